"""Files in folders that are not trusted, for example those of a repository.

All operations use open folders, so that no symbolic link is followed, also if a folder or file is swapped for
one meanwhile. A new version replaces a file in one step, and never replaces a version that was not read.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.platform import HeldFolder, system
from opencode_memory.platform.system import WITHOUT_WAITING

_SUFFIX: Final = ".opencode-memory"
_ABANDONED_SECONDS: Final = 3600


class FolderError(StorageError):
    """The file system refuses in a folder that is not trusted, so an error of the store is told apart from it."""


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
    """Turn errors of the file system into ``FolderError``.

    Args:
        path: The path for the message.
        verb: What was attempted, for the message.

    Raises:
        FolderError: The file system refuses.
    """
    try:
        yield
    except (ConflictError, StorageError):
        raise
    except OSError as error:
        raise FolderError(f"cannot {verb} {path}: {error.strerror or error}", path=str(path)) from error


@contextmanager
def open_folder(
    top: Path, names: Sequence[str], *, create: bool = False, mode: int = 0o777
) -> Iterator[HeldFolder | None]:
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
    with ExitStack() as opened:
        folder = opened.enter_context(system().hold(top))
        for depth, name in enumerate(names):
            if create and folder.mode(name) is None:
                folder.make(name, mode)
                folder.sync()
            kind = folder.mode(name)
            if kind is None:
                yield None
                return
            _require(kind, stat.S_ISDIR(kind), "/".join(names[: depth + 1]), "a folder")
            folder = opened.enter_context(folder.enter(name))
        yield folder


def read_in(folder: HeldFolder, name: str, *, most_bytes: int, shown: str | None = None) -> Found | None:
    """Read a file of an open folder; None if it does not exist.

    Args:
        folder: The folder.
        name: Name of the file.
        most_bytes: Size from which a file is refused.
        shown: The file in messages, if that is not its name.

    Raises:
        ConflictError: It is a link, has the wrong type, or is too large.
        OSError: The file system refuses.
    """
    kind = folder.mode(name)
    if kind is None:
        return None
    _require(kind, stat.S_ISREG(kind), shown or name, "a file")
    # Do not wait for a FIFO or device that takes the file's place meanwhile.
    descriptor = folder.open(name, os.O_RDONLY | WITHOUT_WAITING)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        _require(mode, stat.S_ISREG(mode), shown or name, "a file")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ConflictError(f"it has more than {most_bytes:,} bytes; shorten it")
    return Found(data, stat.S_IMODE(mode))


def replace_in(
    folder: HeldFolder,
    name: str,
    data: bytes,
    *,
    before: Found | None,
    most_bytes: int,
    new_mode: int,
    at: datetime | None,
) -> None:
    """Replace the version of a file that was read by a new one, with the same permissions.

    Args:
        folder: The folder.
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
    descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            if before is not None:
                system().set_mode(out.fileno(), before.mode)
            os.fsync(out.fileno())
        _require_unchanged(folder, name, before, most_bytes)
        folder.replace(temporary, name)
    except BaseException:
        folder.remove(temporary)
        raise
    folder.sync()


def remove_abandoned(folder: HeldFolder, at: datetime, *, beginning: str = ".") -> None:
    """Remove temporary files of a process that died while it wrote.

    Args:
        folder: The folder.
        at: The current time.
        beginning: Beginning of their names.
    """
    for name in folder.names():
        if name.startswith(beginning) and name.endswith(_SUFFIX):
            try:
                age = at.timestamp() - folder.status(name).st_mtime
                if age > _ABANDONED_SECONDS:
                    folder.remove(name)
            except FileNotFoundError:
                continue  # Another process removed it.


def _require_unchanged(folder: HeldFolder, name: str, before: Found | None, most_bytes: int) -> None:
    if read_in(folder, name, most_bytes=most_bytes) != before:
        raise ConflictError("it was changed while it was being written; the next time takes that up")


def _require(mode: int, holds: bool, name: str, wanted: str) -> None:
    if stat.S_ISLNK(mode):
        raise ConflictError(f"{name} is a symbolic link, which is never followed; put {wanted} in its place")
    if not holds:
        raise ConflictError(f"{name} is not {wanted}; move it away")
