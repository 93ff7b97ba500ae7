"""Reads and writes ``.opencode/MEMORY.md`` of a work tree.

A repository is not trusted. Neither the file nor its folder may be a symbolic link (see ``confined``). A new version
keeps the permissions of the file.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError
from opencode_memory.memory_file.confined import Found, open_folder, read_in, refusals, replace_in

FOLDER: Final = ".opencode"
NAME: Final = "MEMORY.md"
RELATIVE: Final = f"{FOLDER}/{NAME}"
_MOST_BYTES: Final = 8 << 20


def read(work_tree: Path) -> Found | None:
    """Read the file of a work tree; None if it does not exist.

    Raises:
        ConflictError: The file or its folder is a link or has the wrong type; or the file is too large.
        StorageError: The file system refuses.
    """
    with refusals(work_tree / RELATIVE, "read"), open_folder(work_tree, (FOLDER,)) as folder:
        return None if folder is None else read_in(folder, NAME, most_bytes=_MOST_BYTES, shown=RELATIVE)


def write(work_tree: Path, data: bytes, *, before: Found | None, at: datetime) -> None:
    """Replace the version that was read by a new one.

    Args:
        work_tree: The work tree.
        data: The new version.
        before: The version that was read; None if there was none.
        at: The current time.

    Raises:
        ConflictError: The file changed since it was read, or is not writable.
        StorageError: The file system refuses.
    """
    with refusals(work_tree / RELATIVE, "write"), open_folder(work_tree, (FOLDER,), create=True) as folder:
        if folder is None:
            raise ConflictError(f"{FOLDER} went away while it was being written")
        # A new file gets the default permissions of this process.
        replace_in(folder, NAME, data, before=before, most_bytes=_MOST_BYTES, new_mode=0o666, at=at)
