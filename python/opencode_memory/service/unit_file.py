"""Reads, replaces and removes the file of the service.

A file without our mark was written by the user or another program. So was a symbolic link, for example a masked unit.
Such a file is never changed or removed.
"""

from __future__ import annotations

import stat
from enum import StrEnum
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.files.atomic import PRIVATE_FOLDER, write_atomically
from opencode_memory.service.manager import MARK

# The file contains no secrets, and systemd and launchd must be able to read it.
_MODE: Final = 0o644


class Change(StrEnum):
    """Change of the file."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


def read_own(path: Path) -> str | None:
    """Return the text of a file that this module wrote; None if there is no file.

    Raises:
        ConflictError: If this module did not write the file.
        StorageError: If it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise _foreign_file_error(path)
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}", path=str(path)) from error
    if MARK not in text:
        raise _foreign_file_error(path)
    return text


def plan_change(path: Path, text: str) -> Change:
    """Return the change that writing a text would make.

    Raises:
        ConflictError: If this module did not write the existing file.
        StorageError: If it cannot be read.
    """
    before = read_own(path)
    if before is None:
        return Change.CREATED
    return Change.UNCHANGED if before == text else Change.REPLACED


def write(path: Path, text: str) -> None:
    """Write the file atomically, so that a crash leaves either the old file or the new file.

    Raises:
        StorageError: If the file cannot be written.
    """
    try:
        make_folder(path.parent)
        write_atomically(path, text.encode(), mode=_MODE)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}", path=str(path)) from error


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible only to the user. Existing folders stay unchanged.

    Raises:
        StorageError: If a folder cannot be created.
    """
    try:
        # Path.mkdir applies its mode only to the last folder.
        for missing in reversed([parent for parent in (folder, *folder.parents) if not parent.is_dir()]):
            missing.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {folder}: {error.strerror or error}", path=str(folder)) from error


def remove(path: Path, links: tuple[Path, ...]) -> None:
    """Remove the file, and the links to it that its supervisor left behind.

    Raises:
        StorageError: If the file or a link cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
        for link in links:
            if link.is_symlink() and link.readlink().name == path.name:
                link.unlink()
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror or error}", path=str(path)) from error


def _foreign_file_error(path: Path) -> ConflictError:
    error = ConflictError(f"{path} was not written by `opencode-memory service install`, so it is left unchanged")
    error.hint = "check the file; if you do not need it, remove it and try again"
    return error
