"""Windows.

This side is tested with another API in the place of ``windows_api``, and in Wine. It has not run on Windows.

* Locks are those of ``LockFileEx`` on one byte far behind the end of a file, because a locked byte cannot be read.
* A file is private through the access list (DACL) of its folder, which new files inherit. Permission bits of POSIX do
  not exist.
* A file that a reader has open cannot be replaced, so a replacement is tried again for a short time.
* A process cannot be told to end; it is ended at once. Acknowledged writes are durable.
"""

# ruff: noqa: D102  the methods are described in ``system``
from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from opencode_memory.platform.system import AS_BYTES, NOT_INHERITED, PRIVATE_FILE, FolderLock, HeldFolder

_POLL_SECONDS: Final = 0.05
_REPLACE_PAUSES_SECONDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_LINK_TAGS: Final = frozenset({0xA000_000C, 0xA000_0003})
"""Tags of symbolic links and of junctions. Other tags do not lead elsewhere, for example those of cloud storage."""
_ENTRY: Final = re.compile(r"\(([^()]*)\)")
_FIELDS: Final = 6
_DENIES: Final = frozenset({"D", "OD", "XD"})
_TRUSTED: Final = frozenset({"SY", "BA", "OW"})
"""The system, administrators, and the owner of the file."""
_BUILT_IN_ADMINISTRATOR: Final = "LA"
_LOCK_SUFFIX: Final = ".lock"
_NO_WINDOW: Final = 0x0800_0000
"""Flag of a process with a console without a window. Without a console, its child processes would open windows."""
_NEW_PROCESS_GROUP: Final = 0x200


class Api(Protocol):
    """Calls of the Windows API."""

    def lock(self, descriptor: int, *, shared: bool) -> bool:
        """Lock the byte of locks without waiting; return whether it is locked."""

    def unlock(self, descriptor: int) -> None:
        """Unlock the byte of locks."""

    def user_sid(self) -> str:
        """Return the security identifier of this user."""

    def set_access(self, path: str, sddl: str) -> None:
        """Replace the access list of a path, and inherit none from its folder."""

    def get_access(self, path: str) -> str:
        """Return the access list of a path in the language of security descriptors."""

    def process_runs(self, pid: int) -> bool:
        """Return whether a process has this id."""

    def terminate(self, pid: int) -> None:
        """End a process at once."""

    def bind_children(self) -> None:
        """Put this process into a job, whose processes end when the last handle of the job is closed."""

    def lower_priority(self) -> None:
        """Put this process below those of the desktop."""

    def has_input(self, descriptor: int) -> bool:
        """Return whether a pipe has input or its other end is closed."""


class Windows:
    """The system calls of Windows. See ``System`` for the methods.

    Args:
        api: The Windows API.
        pause: Waits for a number of seconds.
    """

    detached_flags: Final = _NO_WINDOW | _NEW_PROCESS_GROUP
    # Sockets are handles, of which a process may have millions. This number limits what idle clients can use up.
    most_open_files: Final = 8_192
    has_signals: Final = False
    runs_loops: Final = False
    gives_privacy_by_folder: Final = True

    def __init__(self, api: Api, pause: Callable[[float], None] = time.sleep) -> None:
        self._api = api
        self._pause = pause

    def open(self, path: Path, flags: int, mode: int = PRIVATE_FILE) -> int:
        _refuse_link(path)
        return os.open(path, flags | NOT_INHERITED | AS_BYTES, mode)

    def read_start(self, descriptor: int, size: int) -> bytes:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.read(descriptor, size)

    def write_start(self, descriptor: int, data: bytes) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        done = 0
        while done < len(data):
            done += os.write(descriptor, data[done:])

    def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
        return self._api.lock(descriptor, shared=shared)

    def lock(self, descriptor: int) -> None:
        while not self._api.lock(descriptor, shared=False):
            self._pause(_POLL_SECONDS)

    def unlock(self, descriptor: int) -> None:
        # Unlocking a file that is not locked is an error on Windows, and none on POSIX.
        with suppress(OSError):
            self._api.unlock(descriptor)

    def lock_folder(self, folder: Path, *, shared: bool) -> FolderLock | None:
        # A folder cannot be locked, and a file in it that is open would prevent its removal.
        file = folder.with_name(folder.name + _LOCK_SUFFIX)
        try:
            if not folder.is_dir():
                file.unlink(missing_ok=True)
                return None
            descriptor = self.open(file, os.O_RDWR | os.O_CREAT)
        except OSError:
            return None
        if not self._api.lock(descriptor, shared=shared):
            os.close(descriptor)
            return None
        return _FileLock(self, descriptor, folder, file)

    def hold(self, folder: Path) -> AbstractContextManager[HeldFolder]:
        return _hold(self, folder)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Do nothing, because a file has the access list of its folder."""

    def make_private(self, path: Path) -> None:
        # "OICI": files and folders inside inherit the entry. "FA": full access.
        inherited = "OICI" if path.is_dir() else ""
        self._api.set_access(str(path), f"D:P(A;{inherited};FA;;;{self._api.user_sid()})")

    def make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            self.make_private(folder)

    def may_others_read(self, path: Path) -> bool:
        access, own = self._api.get_access(str(path)), self._api.user_sid()
        entries = [entry.split(";") for entry in _ENTRY.findall(access)]
        known = _TRUSTED | {own} | ({_BUILT_IN_ADMINISTRATOR} if own.endswith("-500") else set())
        # Without a list, or with an entry of an unknown form, everybody may read.
        return not entries or any(
            len(fields) < _FIELDS or (fields[0] not in _DENIES and fields[5] not in known) for fields in entries
        )

    def replace(self, source: Path, target: Path) -> None:
        for seconds in _REPLACE_PAUSES_SECONDS:
            try:
                os.replace(source, target)  # noqa: PTH105  a test puts another function here
            except PermissionError:  # A reader, or a virus scanner, has the file open.
                self._pause(seconds)
            else:
                return
        os.replace(source, target)  # noqa: PTH105

    def sync_names(self, folder: Path) -> None:
        """Do nothing, because NTFS keeps names in its journal, and a folder cannot be synced."""

    def user_id(self) -> int | None:
        return None

    def user_name(self, uid: int) -> str:
        return str(uid)

    def has_ended(self, pid: int) -> bool:
        return not self._api.process_runs(pid)

    def end(self, pid: int) -> None:
        self._api.terminate(pid)

    def bind_children(self) -> None:
        self._api.bind_children()

    def lower_priority(self) -> None:
        self._api.lower_priority()

    def wait_for_input(self, descriptor: int, seconds: float) -> bool:
        # Windows cannot wait for a pipe with a time limit.
        left = seconds
        while not self._api.has_input(descriptor):
            if left <= 0:
                return False
            self._pause(_POLL_SECONDS)
            left -= _POLL_SECONDS
        return True

    def never_block(self, descriptor: int) -> None:
        if (set_blocking := getattr(os, "set_blocking", None)) is not None:  # On Windows since Python 3.12.
            set_blocking(descriptor, False)


@dataclass(frozen=True, slots=True)
class _FileLock:
    """The lock of a folder: a file beside it, which is removed with it."""

    system: Windows
    descriptor: int
    folder: Path
    file: Path

    def release(self) -> None:
        self.system.unlock(self.descriptor)
        os.close(self.descriptor)
        if not self.folder.exists():
            with suppress(OSError):  # Another process has just opened it, and removes it later.
                self.file.unlink()


@dataclass(frozen=True, slots=True)
class _PathFolder:
    """A folder by its path, because Windows opens no file by a folder's descriptor."""

    system: Windows
    folder: Path

    def enter(self, name: str) -> AbstractContextManager[HeldFolder]:
        _refuse_link(self.folder / name)
        return _hold(self.system, self.folder / name)

    def open(self, name: str, flags: int, mode: int = 0) -> int:
        return self.system.open(self.folder / name, flags, mode)

    def mode(self, name: str) -> int | None:
        try:
            found = self.status(name)
        except FileNotFoundError:
            return None
        # A junction is a folder for Python, although it leads elsewhere.
        return stat.S_IFLNK if _leads_elsewhere(found) else found.st_mode

    def status(self, name: str) -> os.stat_result:
        return (self.folder / name).lstat()

    def names(self) -> Sequence[str]:
        return [found.name for found in self.folder.iterdir()]

    def make(self, name: str, mode: int = 0o777) -> None:
        (self.folder / name).mkdir(mode)

    def replace(self, source: str, target: str) -> None:
        self.system.replace(self.folder / source, self.folder / target)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def sync(self) -> None:
        self.system.sync_names(self.folder)


@contextmanager
def _hold(system: Windows, folder: Path) -> Iterator[HeldFolder]:
    if not stat.S_ISDIR(folder.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    yield _PathFolder(system, folder)


def _refuse_link(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if _leads_elsewhere(found):
        raise OSError(errno.ELOOP, "it is a link, which is not followed", str(path))


def _leads_elsewhere(found: os.stat_result) -> bool:
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) in _LINK_TAGS
