"""Reads and writes ``.opencode/MEMORY.md`` of a work tree.

A repository is not trusted. Neither the file nor its folder may be a symbolic link, also if either is swapped
meanwhile, because all operations use descriptors of folders. A new version replaces the file in one step, keeps its
permissions, and never replaces a version that was not read.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.files.atomic import sync_names

FOLDER: Final = ".opencode"
NAME: Final = "MEMORY.md"
RELATIVE: Final = f"{FOLDER}/{NAME}"
_MOST_BYTES: Final = 8 << 20
_TEMPORARY: Final = f".{NAME}."
_SUFFIX: Final = ".opencode-memory"
_ABANDONED_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was read.

    Attributes:
        data: Its bytes.
        mode: Its permissions.
    """

    data: bytes
    mode: int


def read(work_tree: Path) -> Found | None:
    """Read the file of a work tree; None if it does not exist.

    Raises:
        ConflictError: The file or its folder is a link or has the wrong type; or the file is too large.
        StorageError: The file system refuses.
    """
    with _refusals(work_tree, "read"), _folder(work_tree) as folder:
        return None if folder is None else _read(folder)


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
    with _refusals(work_tree, "write"), _folder(work_tree, create=True) as folder:
        if folder is None:
            raise ConflictError(f"{FOLDER} went away while it was being written")
        _remove_abandoned(folder, at)
        temporary = f"{_TEMPORARY}{secrets.token_hex(8)}{_SUFFIX}"
        # Without an old file, use the default permissions of this process for new files.
        mode = 0o666 if before is None else 0o600
        descriptor = _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder, mode)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(data)
                out.flush()
                if before is not None:
                    os.fchmod(out.fileno(), before.mode)
                os.fsync(out.fileno())
            _require_unchanged(folder, before)
            os.rename(temporary, NAME, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        sync_names(folder)


@contextmanager
def _refusals(work_tree: Path, verb: str) -> Iterator[None]:
    path = work_tree / RELATIVE
    try:
        yield
    except (ConflictError, StorageError):
        raise
    except OSError as error:
        raise StorageError(f"cannot {verb} {path}: {error.strerror or error}", path=str(path)) from error


@contextmanager
def _folder(work_tree: Path, *, create: bool = False) -> Iterator[int | None]:
    """Open the folder of the file; None if it does not exist."""
    top = os.open(work_tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if create and _kind(FOLDER, top) is None:
            os.mkdir(FOLDER, dir_fd=top)
            sync_names(top)
        kind = _kind(FOLDER, top)
        if kind is None:
            yield None
            return
        _require(kind, stat.S_ISDIR(kind), FOLDER, "a folder")
        folder = _open(FOLDER, os.O_RDONLY | os.O_DIRECTORY, top)
        try:
            yield folder
        finally:
            os.close(folder)
    finally:
        os.close(top)


def _read(folder: int) -> Found | None:
    kind = _kind(NAME, folder)
    if kind is None:
        return None
    _require(kind, stat.S_ISREG(kind), RELATIVE, "a file")
    # Do not wait for a FIFO or device that takes the file's place meanwhile.
    descriptor = _open(NAME, os.O_RDONLY | os.O_NONBLOCK, folder)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        _require(mode, stat.S_ISREG(mode), RELATIVE, "a file")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ConflictError(
            f"it has more than {_MOST_BYTES:,} bytes, which is no list of memories any more; shorten it"
        )
    return Found(data, stat.S_IMODE(mode))


def _open(name: str, flags: int, folder: int, mode: int = 0) -> int:
    return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)


def _require_unchanged(folder: int, before: Found | None) -> None:
    if _read(folder) != before:
        raise ConflictError("it was changed while it was being written; the next time takes that up")


def _kind(name: str, folder: int) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _require(mode: int, holds: bool, name: str, wanted: str) -> None:
    if stat.S_ISLNK(mode):
        raise ConflictError(f"{name} is a symbolic link, which is never followed; put {wanted} in its place")
    if not holds:
        raise ConflictError(f"{name} is not {wanted}; move it away")


def _remove_abandoned(folder: int, at: datetime) -> None:
    """Remove the temporary file of a process that died while it wrote."""
    for name in os.listdir(folder):
        if name.startswith(_TEMPORARY) and name.endswith(_SUFFIX):
            try:
                age = at.timestamp() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
                if age > _ABANDONED_SECONDS:
                    os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                continue  # Another process removed it.
