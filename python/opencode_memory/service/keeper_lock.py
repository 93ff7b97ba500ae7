"""Lock of the program that keeps the server running on Windows; its file has the process id of the server.

The kernel releases the lock when the program ends. So a file without a lock is outdated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.platform import system

LOCK_FILE: Final = "keeper.lock"
_PATIENCE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.1
_PID_BYTES: Final = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """A server that is kept running.

    Attributes:
        pid: Its process id; None while it is started again.
    """

    pid: int | None


def find_kept(folder: Path) -> Kept | None:
    """Return the server that is kept running; None if no keeper runs.

    Args:
        folder: The folder of the lock.
    """
    try:
        descriptor = system().open(folder / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        if system().try_lock(descriptor, shared=True):
            return None
        text = system().read_start(descriptor, _PID_BYTES).strip()
    finally:
        os.close(descriptor)
    return Kept(pid=int(text) if text.isdigit() else None)


@contextmanager
def hold_lock(folder: Path, pause: Callable[[float], None]) -> Iterator[Callable[[int | None], None] | None]:
    """Hold the lock, and yield a function that writes a process id; yield None if another keeper goes on running.

    Args:
        folder: The folder of the lock, which must exist.
        pause: Waits for a number of seconds.
    """
    descriptor = system().open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT)

    def report(pid: int | None) -> None:
        system().write_start(descriptor, str(pid or "").encode().ljust(_PID_BYTES))

    try:
        left = _PATIENCE_SECONDS
        # The keeper of an earlier form of the task may be ending.
        while not system().try_lock(descriptor):
            if left <= 0:
                yield None
                return
            pause(_POLL_SECONDS)
            left -= _POLL_SECONDS
        report(None)
        yield report
    finally:
        os.close(descriptor)
