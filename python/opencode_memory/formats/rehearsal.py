"""A store that lives as long as one import, in which the import is tried out.

Only writing a row tells whether the engine takes it. What fails here fails before anything was written, in a dry run
too; and no more is held in memory than by the import itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opencode_memory import memory
from opencode_memory.errors import StorageError


@contextmanager
def rehearsal() -> Iterator[memory.MemoryStore]:
    """Open an empty store that is removed at the end.

    Raises:
        StorageError: There is no room, or no permission, for one.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="opencode-memory-import-", ignore_cleanup_errors=True)
    except OSError as error:
        where = tempfile.gettempdir()
        raise StorageError(f"cannot try the import out in {where}: {error.strerror or error}", path=where) from error
    with folder as name, memory.open(Path(name), background=False) as store:
        yield store
