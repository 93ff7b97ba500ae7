"""Removes lock files of git that a killed process has left in the own folder of a loop's worktree.

Git never removes the lock of a dead process, because a lock file does not name its process. Here the process can be
looked for: whoever holds a lock of a worktree is a git in this repository, or has the lock file open. Only locks that
belong to the loop alone are looked at: those of its worktree, and that of its branch.
"""

from __future__ import annotations

import logging
import os
import select
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from opencode_memory.loops.process import all_processes, process_start, this_machine

_WAIT_SECONDS: Final = 10.0
"""Time in which a git that still runs may come to its end."""
_log: Final = logging.getLogger(__name__)


def remove_stale_locks(worktree: Path, git_dir: Path, common: Path, branch: str) -> None:
    """Remove the locks whose process has ended. A lock that may still be held is waited for, and then left.

    Nothing is removed on a system without ``/proc``, where processes cannot be looked for.

    Args:
        worktree: The files of the loop.
        git_dir: Their own folder of git, below ``worktrees`` of ``common``.
        common: The folder of git that all worktrees share.
        branch: The branch of the loop.
    """
    if this_machine() is None:
        return
    until = time.monotonic() + _WAIT_SECONDS
    for lock in _find_locks(git_dir, common, branch):
        while (state := _state(lock)) is not None:
            holders = _find_holders(lock, (worktree, git_dir, common))
            if not holders and _state(lock) == state:
                with suppress(FileNotFoundError):
                    lock.unlink()
                _log.warning("removed %s, which a killed git had left", lock)
                break
            left = until - time.monotonic()
            if left <= 0:
                _log.info("%s is left, because the processes %s may hold it", lock, holders)
                break
            _wait_for_end(holders, left)


def _find_locks(git_dir: Path, common: Path, branch: str) -> Iterator[Path]:
    """Yield the locks that are there."""
    yield from sorted(git_dir.glob("*.lock"))
    of_branch = common / "refs" / "heads" / f"{branch}.lock"
    if of_branch.is_file():
        yield of_branch


def _state(lock: Path) -> tuple[int, int] | None:
    """Return what tells a lock from a later one of the same name; None if it is gone."""
    try:
        found = lock.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_ctime_ns


def _find_holders(lock: Path, places: tuple[Path, ...]) -> list[int]:
    """Return the processes that may hold a lock."""
    return [pid for pid in all_processes() if process_start(pid) is not None and _may_hold(pid, lock, places)]


def _may_hold(pid: int, lock: Path, places: tuple[Path, ...]) -> bool:
    process = Path("/proc") / str(pid)
    try:
        is_git = (process / "comm").read_text(errors="replace").startswith("git")
    except OSError:
        return False  # It has ended.
    try:
        return (is_git and _is_in(process, places)) or _has_open(process, lock)
    except PermissionError:
        return is_git  # A process of another user may not change these files, but a git in a container may.
    except (FileNotFoundError, ProcessLookupError):
        return False


def _has_open(process: Path, lock: Path) -> bool:
    for entry in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # It was closed meanwhile, or the lock is gone.
            if entry.samefile(lock):
                return True
    return False


def _is_in(process: Path, places: tuple[Path, ...]) -> bool:
    """Return whether a git works in one of these folders, or was given one of them."""
    working = (process / "cwd").readlink()
    given = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
    return any(
        working.is_relative_to(name) or os.fsencode(name) in given
        for place in places
        for name in {place, place.resolve()}
    )


def _wait_for_end(pids: list[int], seconds: float) -> None:
    """Wait until one of these processes ends."""
    with ExitStack() as opened:
        handles = []
        for pid in pids:
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
                opened.callback(os.close, handles[-1])
        if len(handles) == len(pids):
            select.select(handles, [], [], seconds)
