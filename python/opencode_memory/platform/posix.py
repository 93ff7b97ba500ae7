"""Linux and macOS."""

# ruff: noqa: D102  the methods are described in ``system``
from __future__ import annotations

import sys

if sys.platform == "win32":
    raise ImportError("this module exists on POSIX only")

import errno
import fcntl
import os
import pwd
import resource
import select
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.platform.system import PRIVATE_FILE, PRIVATE_FOLDER, FolderLock, HeldFolder

_OTHERS: Final = 0o077
_NICENESS: Final = 10
_MOST_FILES: Final = 1 << 16
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Posix:
    """The system calls of Linux and macOS. See ``System`` for the methods."""

    detached_flags: Final = 0
    has_signals: Final = True
    runs_loops: Final = True
    gives_privacy_by_folder: Final = False

    @property
    def most_open_files(self) -> int:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)

    def open(self, path: Path, flags: int, mode: int = PRIVATE_FILE) -> int:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode)

    def read_start(self, descriptor: int, size: int) -> bytes:
        return os.pread(descriptor, size, 0)

    def write_start(self, descriptor: int, data: bytes) -> None:
        done = 0
        while done < len(data):  # A disk that is almost full takes a part first, and then fails.
            done += os.pwrite(descriptor, data[done:], done)

    def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def unlock(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def lock_folder(self, folder: Path, *, shared: bool) -> FolderLock | None:
        try:
            descriptor = os.open(folder, _FOLDER)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return _DescriptorLock(descriptor)

    def hold(self, folder: Path) -> AbstractContextManager[HeldFolder]:
        return _closing(os.open(folder, _FOLDER))

    def set_mode(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)

    def make_private(self, path: Path) -> None:
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)

    def make_folder(self, folder: Path) -> None:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)

    def may_others_read(self, path: Path) -> bool:
        return bool(path.stat().st_mode & _OTHERS)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def sync_names(self, folder: Path) -> None:
        descriptor = os.open(folder, _FOLDER)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)

    def user_id(self) -> int | None:
        return os.geteuid()

    def user_name(self, uid: int) -> str:
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:  # A user without a name, for example in a container.
            return str(uid)

    def has_ended(self, pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # A process of another user.
            return False
        return False

    def end(self, pid: int) -> None:
        os.kill(pid, signal.SIGTERM)

    def bind_children(self) -> None:
        """Do nothing, because systemd and launchd end the processes of a service."""

    def lower_priority(self) -> None:
        os.nice(_NICENESS)

    def wait_for_input(self, descriptor: int, seconds: float) -> bool:
        return bool(select.select([descriptor], [], [], seconds)[0])

    def never_block(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)


@dataclass(frozen=True, slots=True)
class _DescriptorLock:
    """The lock on an open folder."""

    descriptor: int

    def release(self) -> None:
        # A child that was forked meanwhile has the descriptor too, so closing ours would not release the lock.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class _DescriptorFolder:
    """A folder that stays the same although its path may lead to another folder meanwhile."""

    descriptor: int

    def enter(self, name: str) -> AbstractContextManager[HeldFolder]:
        return _closing(self.open(name, os.O_RDONLY | os.O_DIRECTORY))

    def open(self, name: str, flags: int, mode: int = 0) -> int:
        return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=self.descriptor)

    def mode(self, name: str) -> int | None:
        try:
            return self.status(name).st_mode
        except FileNotFoundError:
            return None

    def status(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def names(self) -> Sequence[str]:
        return os.listdir(self.descriptor)  # noqa: PTH208  by its descriptor

    def make(self, name: str, mode: int = 0o777) -> None:
        os.mkdir(name, mode, dir_fd=self.descriptor)

    def replace(self, source: str, target: str) -> None:
        os.rename(source, target, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self.descriptor)

    def sync(self) -> None:
        _sync(self.descriptor)


@contextmanager
def _closing(descriptor: int) -> Iterator[HeldFolder]:
    try:
        yield _DescriptorFolder(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # Some file systems cannot sync a folder, for example those that a virtual machine shares with its host.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
