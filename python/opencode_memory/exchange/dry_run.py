"""A store that lives as long as one import, in which the import is tried out.

Only writing a row tells whether the engine takes it. What fails here fails before anything was written, in a dry run
too; and no more is held in memory than by the import itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opencode_memory.store import memory_store
from opencode_memory.store.snapshots import private_folder


@contextmanager
def rehearsal(store: memory_store.MemoryStore) -> Iterator[memory_store.MemoryStore]:
    """Open an empty store beside the one that an import is meant for; it is removed at the end.

    Raises:
        StorageError: There is no room, or no permission, for one.
    """
    with (
        private_folder(store.data_dir if store.is_writable else None) as folder,
        memory_store.open(folder, background=False) as tried,
    ):
        yield tried
