"""Replacement of a file in one step: after a crash, the path holds either the old or the new version.

The new version is written to a temporary file in the same folder, synced, and renamed, and the folder is synced. No
symbolic link is followed: a link at the path is replaced. Callers that want to keep a link pass its target.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from opencode_memory.platform import system
from opencode_memory.platform.system import PRIVATE_FILE, PRIVATE_FOLDER, WITHOUT_WAITING

__all__ = ["PRIVATE_FILE", "PRIVATE_FOLDER", "open_atomically", "remove_leftovers", "write_atomically"]

_MARK_BYTES: Final = 8
"""Random bytes in the name of a temporary file."""


def write_atomically(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Create or replace a file in one step.

    Args:
        path: The file; its folder must exist.
        data: The complete content.
        mode: The permissions of the new version.

    Raises:
        OSError: The file cannot be written. See ``open_atomically``.
    """
    with open_atomically(path, mode=mode) as out:
        out.buffer.write(data)


@contextmanager
def open_atomically(path: Path, *, mode: int = PRIVATE_FILE) -> Iterator[TextIOWrapper]:
    """Open a UTF-8 file for writing that replaces the path when the context ends without an exception.

    Args:
        path: The file; its folder must exist.
        mode: The permissions of the new version.

    Raises:
        OSError: The file cannot be written. The old version, if any, is unchanged, unless only the sync of the folder
            failed: then the new version is there, and a loss of power may bring the old one back.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(_MARK_BYTES)}")
    # Private while it is written, whatever its final permissions are.
    descriptor = system().open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        # Some file systems have no locks. On these, no leftover is removed.
        with suppress(OSError):
            system().try_lock(descriptor)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
            yield out
            out.flush()
            # Some file systems, for example FAT, have no permissions and refuse to change them.
            if mode != PRIVATE_FILE:
                system().set_mode(descriptor, mode)
            os.fsync(descriptor)
        system().replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    system().sync_names(path.parent)


def remove_leftovers(path: Path, *, before: datetime) -> None:
    """Remove temporary files of ``open_atomically`` for a path that killed processes of this user left.

    Args:
        path: The path.
        before: Only files that were changed last before this time. A file that is still written is locked, too.
    """
    name = re.compile(rf"{re.escape(f'.{path.name}.')}[0-9a-f]{{{2 * _MARK_BYTES}}}")
    # This process may write into the folder, but not list it.
    with suppress(OSError):
        for entry in [entry for entry in path.parent.iterdir() if name.fullmatch(entry.name)]:
            # Another process may have removed the file, or another user may own it.
            with suppress(OSError):
                if _is_leftover(entry, before):
                    entry.unlink()


def _is_leftover(path: Path, before: datetime) -> bool:
    descriptor = system().open(path, os.O_RDWR | WITHOUT_WAITING)
    try:
        found = os.fstat(descriptor)
        is_ours = stat.S_ISREG(found.st_mode) and system().user_id() in {None, found.st_uid}
        return is_ours and found.st_mtime < before.timestamp() and system().try_lock(descriptor)
    finally:
        os.close(descriptor)
