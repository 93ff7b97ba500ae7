"""The one file of the service: whose it is, and how it is replaced and removed.

A file without our mark belongs to somebody else, and so does a link (a masked unit is a link to nowhere): neither is
written to nor removed.
"""

from __future__ import annotations

import os
import stat
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.service.manager import MARK

# Nothing in it is secret, and both systems want to read it; whatever it leads to guards itself.
_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o700


class Change(StrEnum):
    """What becomes of the file."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


def read_own(path: Path) -> str | None:
    """Return the text of the file that was written here; None when there is no file.

    Raises:
        ConflictError: There is a file, and it was not written here.
        StorageError: It cannot be read.
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
    """Say what writing a text would be.

    Raises:
        ConflictError: There is a file, and it was not written here.
        StorageError: It cannot be read.
    """
    before = read_own(path)
    if before is None:
        return Change.CREATED
    return Change.UNCHANGED if before == text else Change.REPLACED


def write(path: Path, text: str) -> None:
    """Put a text in place in one step, so that a crash leaves the old file or the new one.

    Raises:
        StorageError: The file system refuses.
    """
    try:
        make_folder(path.parent)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as out:
            try:
                out.write(text)
                out.flush()
                os.fchmod(out.fileno(), _MODE)
                os.fsync(out.fileno())
                Path(out.name).replace(path)
            except BaseException:
                Path(out.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}", path=str(path)) from error


def make_folder(folder: Path) -> None:
    """Create a folder, and those above it, for the person alone; those that exist stay as they are.

    Raises:
        StorageError: The file system refuses.
    """
    try:
        # Path.mkdir gives its mode to the last one only.
        for missing in reversed([one for one in (folder, *folder.parents) if not one.is_dir()]):
            missing.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {folder}: {error.strerror or error}", path=str(folder)) from error


def remove(path: Path, links: tuple[Path, ...]) -> None:
    """Remove the file, and the links to it that its supervisor left.

    Raises:
        StorageError: The file system refuses.
    """
    try:
        path.unlink(missing_ok=True)
        for link in links:
            if link.is_symlink() and link.readlink().name == path.name:
                link.unlink()
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror or error}", path=str(path)) from error


def _foreign_file_error(path: Path) -> ConflictError:
    error = ConflictError(f"{path} was not written by `opencode-memory service install`, so it stays as it is")
    error.hint = "look what it is; when it can go, remove it by hand and try again"
    return error
