"""Files in folders that are not trusted, for example those of a repository.

All operations use descriptors of folders, so that no symbolic link is followed, also if a folder or file is swapped for
one meanwhile. A new version replaces a file in one step, and never replaces a version that was not read.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.files.atomic import sync_names

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


@contextmanager
def refusals(path: Path, verb: str) -> Iterator[None]:
    """Turn errors of the file system into ``StorageError``.

    Args:
        path: The path for the message.
        verb: What was attempted, for the message.

    Raises:
        StorageError: The file system refuses.
    """
    try:
        yield
    except (ConflictError, StorageError):
        raise
    except OSError as error:
        raise StorageError(f"cannot {verb} {path}: {error.strerror or error}", path=str(path)) from error


@contextmanager
def open_folder(top: Path, names: Sequence[str], *, create: bool = False, mode: int = 0o777) -> Iterator[int | None]:
    """Open a folder below a trusted one; None if it does not exist.

    Args:
        top: The trusted folder, which must exist.
        names: The names from there to the folder; none of them may be a link.
        create: Whether to create missing folders.
        mode: The permissions of a created folder.

    Raises:
        ConflictError: One of them is a link or not a folder.
        OSError: The file system refuses.
    """
    opened = [os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for depth, name in enumerate(names):
            above = opened[-1]
            if create and kind_of(name, above) is None:
                os.mkdir(name, mode, dir_fd=above)
                sync_names(above)
            kind = kind_of(name, above)
            if kind is None:
                yield None
                return
            _require(kind, stat.S_ISDIR(kind), "/".join(names[: depth + 1]), "a folder")
            opened.append(_open(name, os.O_RDONLY | os.O_DIRECTORY, above))
        yield opened[-1]
    finally:
        for descriptor in reversed(opened):
            os.close(descriptor)


def read_in(folder: int, name: str, *, most_bytes: int, shown: str | None = None) -> Found | None:
    """Read a file of an open folder; None if it does not exist.

    Args:
        folder: Descriptor of the folder.
        name: Name of the file.
        most_bytes: Size from which a file is refused.
        shown: The file in messages, if that is not its name.

    Raises:
        ConflictError: It is a link, has the wrong type, or is too large.
        OSError: The file system refuses.
    """
    kind = kind_of(name, folder)
    if kind is None:
        return None
    _require(kind, stat.S_ISREG(kind), shown or name, "a file")
    # Do not wait for a FIFO or device that takes the file's place meanwhile.
    descriptor = _open(name, os.O_RDONLY | os.O_NONBLOCK, folder)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        _require(mode, stat.S_ISREG(mode), shown or name, "a file")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ConflictError(f"it has more than {most_bytes:,} bytes, which is no list of memories any more; shorten it")
    return Found(data, stat.S_IMODE(mode))


def replace_in(
    folder: int, name: str, data: bytes, *, before: Found | None, most_bytes: int, new_mode: int, at: datetime | None
) -> None:
    """Replace the version of a file that was read by a new one, with the same permissions.

    Args:
        folder: Descriptor of the folder.
        name: Name of the file.
        data: The new version.
        before: The version that was read; None if there was none.
        most_bytes: Size from which a file is refused.
        new_mode: Permissions of a new file, before the mask of this process.
        at: The current time, to remove what a process that died left; None if the caller does that.

    Raises:
        ConflictError: The file changed since it was read.
        OSError: The file system refuses.
    """
    beginning = f".{name}."
    if at is not None:
        remove_abandoned(folder, at, beginning=beginning)
    temporary = f"{beginning}{secrets.token_hex(8)}{_SUFFIX}"
    mode = new_mode if before is None else 0o600
    descriptor = _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder, mode)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            if before is not None:
                os.fchmod(out.fileno(), before.mode)
            os.fsync(out.fileno())
        _require_unchanged(folder, name, before, most_bytes)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    sync_names(folder)


def kind_of(name: str, folder: int) -> int | None:
    """Return the type and permissions of an entry of an open folder, None if it is missing. Follows no link."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def remove_abandoned(folder: int, at: datetime, *, beginning: str = ".") -> None:
    """Remove temporary files of a process that died while it wrote.

    Args:
        folder: Descriptor of the folder.
        at: The current time.
        beginning: Beginning of their names.
    """
    for name in os.listdir(folder):
        if name.startswith(beginning) and name.endswith(_SUFFIX):
            try:
                age = at.timestamp() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
                if age > _ABANDONED_SECONDS:
                    os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                continue  # Another process removed it.


def _open(name: str, flags: int, folder: int, mode: int = 0) -> int:
    return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)


def _require_unchanged(folder: int, name: str, before: Found | None, most_bytes: int) -> None:
    if read_in(folder, name, most_bytes=most_bytes) != before:
        raise ConflictError("it was changed while it was being written; the next time takes that up")


def _require(mode: int, holds: bool, name: str, wanted: str) -> None:
    if stat.S_ISLNK(mode):
        raise ConflictError(f"{name} is a symbolic link, which is never followed; put {wanted} in its place")
    if not holds:
        raise ConflictError(f"{name} is not {wanted}; move it away")
