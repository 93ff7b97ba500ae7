"""A temporary store in which an import is tried out.

Only writing a row shows whether the engine accepts it. An error therefore occurs before the real store is written, in a
dry run too. The try-out holds no more in memory than the import itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opencode_memory.store import open_store
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.snapshots import private_folder


@contextmanager
def rehearsal(store: MemoryStore) -> Iterator[MemoryStore]:
    """Open an empty temporary store in the folder of the import's store; it is removed at the end.

    Raises:
        StorageError: There is no room, or no permission, for it.
    """
    with (
        private_folder(store.data_dir if store.is_writable else None) as folder,
        open_store.open(folder, background=False) as tried,
    ):
        yield tried
