"""Ends what a dead server has left running: the commands of a check, and its own calls of git.

A command is a process group of its own, and the group's leader is stored before the command begins. Calls of git
bear the identity of their server in their environment.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from opencode_memory.loops.process import (
    ProcessId,
    all_processes,
    identify,
    members_of_group,
    process_start,
    this_machine,
)

_VARIABLE: Final = "OCM_STARTED_BY"
_GIT_SECONDS: Final = 10.0
"""Time in which a call of git may come to its end by itself."""
_END_SECONDS: Final = 5.0
_BEGIN_SECONDS: Final = 1.0
"""Time in which a process that begins a program gets its environment, also on a busy machine."""
_MOST_LOOKS: Final = 50
"""After so many looks at a process with a command line, its environment really is empty."""


def mark() -> Mapping[str, str]:
    """Return the variable that names this process to those that it starts; none where it cannot be identified."""
    found = identify(os.getpid())
    return {} if found is None else {_VARIABLE: str(found)}


def end_group(leader: ProcessId) -> bool:
    """End a process group that a server has started. Return whether any process of it still ran.

    Args:
        leader: The first process of the group.
    """
    return _end(lambda: _find_group(leader), (signal.SIGKILL, _END_SECONDS))


def end_children(server: ProcessId) -> bool:
    """Let the calls of git of a dead server come to their end. Return whether there were any.

    One that takes too long is told to end, and then removes its lock files.
    """
    wanted = f"{_VARIABLE}={server}".encode()
    return _end(
        lambda: [pid for pid in all_processes() if _has_variable(pid, wanted)],
        (None, _GIT_SECONDS),
        (signal.SIGTERM, _END_SECONDS),
        (signal.SIGKILL, _END_SECONDS),
    )


def _find_group(leader: ProcessId) -> list[int]:
    if leader.machine != this_machine():
        return []
    started = process_start(leader.pid)
    members = members_of_group(leader.pid)
    if started is not None:
        # The number of a group is not given to a new process while the group has members.
        return members if started == leader.started else []
    # Without its leader, a group could be a later one of the same number: ours bears our mark.
    ours = f"{_VARIABLE}=".encode()
    return [pid for pid in members if (process_start(pid) or 0) >= leader.started and _has_variable(pid, ours)]


def _end(find: Callable[[], list[int]], *steps: tuple[signal.Signals | None, float]) -> bool:
    """Send signals one after another until no process is found; each has some seconds."""
    found_any = False
    for sign, seconds in steps:
        until = time.monotonic() + seconds
        while found := find():
            found_any = True
            left = until - time.monotonic()
            if left <= 0:
                break
            _signal_and_wait(found, sign, left, find)
        if not found:
            break
    return found_any


def _signal_and_wait(
    pids: Iterable[int], sign: signal.Signals | None, seconds: float, find: Callable[[], list[int]]
) -> None:
    """Send a signal, if any, to processes, and wait until they have ended, or for some seconds."""
    with ExitStack() as opened:
        handles = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                handles[pid] = os.pidfd_open(pid)
                opened.callback(os.close, handles[pid])
        # What is found now cannot be another process of the same number, because the handles are held.
        certain = [handles[pid] for pid in find() if pid in handles]
        for handle in certain:
            if sign is not None:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, sign)
        # Wait for all: a process that is about to end has no environment any more, so it would not be found again.
        until = time.monotonic() + seconds
        while certain and (left := until - time.monotonic()) > 0:
            ended, _, _ = select.select(certain, [], [], left)
            certain = [handle for handle in certain if handle not in ended]


def _has_variable(pid: int, start: bytes) -> bool:
    """Return whether the environment of a process has a variable that starts so."""
    try:
        return any(entry.startswith(start) for entry in _read_environment(pid).split(b"\0"))
    except OSError:
        return False


def _read_environment(pid: int) -> bytes:
    """Read the environment of a process.

    While a process begins another program, its environment and its command line are empty for a moment. Without this
    wait, a call of git that has just begun would be overlooked.

    Raises:
        OSError: The process has ended, has no program, or belongs to another user.
    """
    until = time.monotonic() + _BEGIN_SECONDS
    looks = 0
    while not (found := Path(f"/proc/{pid}/environ").read_bytes()) and time.monotonic() < until:
        Path(f"/proc/{pid}/exe").readlink()  # Fails for a process that has ended, and for the kernel's own.
        # The environment comes a moment after the command line, unless it really is empty.
        looks += bool(Path(f"/proc/{pid}/cmdline").read_bytes())
        if looks > _MOST_LOOKS:
            break
        os.sched_yield()
    return found
