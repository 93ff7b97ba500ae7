"""What the package needs of an operating system, and the flags that exist on some systems only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700

NOT_INHERITED: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
"""Flag that keeps a descriptor from child processes."""
AS_BYTES: Final[int] = getattr(os, "O_BINARY", 0)
"""Flag without which Windows would change the ends of lines."""
WITHOUT_WAITING: Final[int] = getattr(os, "O_NONBLOCK", 0)
"""Flag without which opening a FIFO would block."""


class FolderLock(Protocol):
    """A lock on a folder, which ends with the process at the latest."""

    def release(self) -> None:
        """Release the lock. The folder may have been removed meanwhile."""


class HeldFolder(Protocol):
    """An open folder: its files are reached by their names in it, and links are never followed."""

    def enter(self, name: str) -> AbstractContextManager[HeldFolder]:
        """Open a folder in this folder."""

    def open(self, name: str, flags: int, mode: int = 0) -> int:
        """Open a file and return its descriptor."""

    def mode(self, name: str) -> int | None:
        """Return type and permissions of an entry, not of a link's target; None if it does not exist."""

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry, not of a link's target.

        Raises:
            FileNotFoundError: It does not exist.
        """

    def names(self) -> Sequence[str]:
        """Return the names of all entries."""

    def make(self, name: str, mode: int = 0o777) -> None:
        """Make a folder."""

    def replace(self, source: str, target: str) -> None:
        """Give a file the name of another file, which it replaces."""

    def remove(self, name: str) -> None:
        """Remove a file."""

    def sync(self) -> None:
        """Make changes of names survive a loss of power."""


class System(Protocol):
    """An operating system."""

    @property
    def detached_flags(self) -> int:
        """Value of ``creationflags`` for a process that outlives this one, beside ``start_new_session``."""

    @property
    def most_open_files(self) -> int:
        """How many files and sockets this process may have open."""

    @property
    def has_signals(self) -> bool:
        """Whether another process can tell this one to end, and this one can finish its work first."""

    @property
    def runs_loops(self) -> bool:
        """Whether the sandbox of loops and the supervision of their processes exist."""

    @property
    def gives_privacy_by_folder(self) -> bool:
        """Whether a new file is as private as its folder, whatever permissions it is created with."""

    def open(self, path: Path, flags: int, mode: int = PRIVATE_FILE) -> int:
        """Open a file that child processes do not inherit. A symbolic link is refused."""

    def read_start(self, descriptor: int, size: int) -> bytes:
        """Return at most ``size`` bytes from the beginning of a file."""

    def write_start(self, descriptor: int, data: bytes) -> None:
        """Write the beginning of a file."""

    def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
        """Lock a file unless another process has locked it; return whether it is locked."""

    def lock(self, descriptor: int) -> None:
        """Wait until no other process has locked a file, and lock it."""

    def unlock(self, descriptor: int) -> None:
        """Release a lock, also if a child process has inherited the descriptor."""

    def lock_folder(self, folder: Path, *, shared: bool) -> FolderLock | None:
        """Lock a folder; None if another process has locked it, or if it does not exist."""

    def hold(self, folder: Path) -> AbstractContextManager[HeldFolder]:
        """Open a folder."""

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Set the permissions of an open file."""

    def make_private(self, path: Path) -> None:
        """Let only this user read and write a file, or a folder with all that it holds later."""

    def make_folder(self, folder: Path) -> None:
        """Create a folder that only this user reads, with its parents, unless it exists."""

    def may_others_read(self, path: Path) -> bool:
        """Return whether another user may read a file or a folder."""

    def replace(self, source: Path, target: Path) -> None:
        """Give a file the name of another file, which it replaces, also while a reader has that file open."""

    def sync_names(self, folder: Path) -> None:
        """Make changes of names in a folder survive a loss of power."""

    def user_id(self) -> int | None:
        """Return the id of this user; None if users have no number."""

    def user_name(self, uid: int) -> str:
        """Return the name of a user, or the number if there is no name."""

    def has_ended(self, pid: int) -> bool:
        """Return whether no process has this id."""

    def end(self, pid: int) -> None:
        """Tell a process to end.

        Raises:
            ProcessLookupError: There is no such process.
            PermissionError: The process belongs to another user.
        """

    def bind_children(self) -> None:
        """Let the system end all processes that this one starts when this one ends, unless its supervisor does so."""

    def lower_priority(self) -> None:
        """Let processes that the user waits for go before this one."""

    def wait_for_input(self, descriptor: int, seconds: float) -> bool:
        """Wait until a pipe has input or its other end is closed; return False after the given time."""

    def never_block(self, descriptor: int) -> None:
        """Let writes to a full pipe fail instead of block."""
