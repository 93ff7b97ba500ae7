"""Identity of a process: its id, its start and its machine, because ids are used again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STATE, _GROUP, _START = 0, 2, 19
"""Places in ``/proc/PID/stat`` after the name, which may have spaces."""
_ENDED: Final = ("Z", "X")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process that is told from every other one, on every machine.

    Attributes:
        pid: Its process id.
        started: Its start time, in clock ticks.
        machine: The boot of the machine and the namespace of process ids in which ``pid`` is valid.
    """

    pid: int
    started: int
    machine: str

    @property
    def is_known_dead(self) -> bool:
        """Whether it certainly runs no more. A process of another machine or container may still run."""
        return self.machine == this_machine() and process_start(self.pid) != self.started

    def __str__(self) -> str:
        """Return it as one word."""
        return f"{self.pid}-{self.started}-{self.machine}"


def identify(pid: int) -> ProcessId | None:
    """Return the identity of a running process; None if it has ended or the system does not tell."""
    started, machine = process_start(pid), this_machine()
    return None if started is None or machine is None else ProcessId(pid=pid, started=started, machine=machine)


def this_machine() -> str | None:
    """Return what ``ProcessId.machine`` is for processes that this one sees; None on a system without ``/proc``."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
        return f"{_BOOT_ID.read_text(encoding='ascii').strip()}-{namespace.partition('[')[2].rstrip(']')}"
    except OSError:
        return None


def process_start(pid: int) -> int | None:
    """Return the start time of a process in clock ticks; None if it has ended or the system does not tell."""
    found = _read(pid)
    return None if found is None or found[_STATE] in _ENDED else int(found[_START])


def is_alive(pid: int, started: int | None) -> bool:
    """Return whether a process still runs; on a system without ``/proc`` it counts as ended."""
    return started is not None and process_start(pid) == started


def members_of_group(group: int) -> list[int]:
    """Return the running processes of a process group; none on a system without ``/proc``."""
    return [pid for pid in all_processes() if (found := _read(pid)) and _is_member(found, group)]


def all_processes() -> list[int]:
    """Return the ids of all processes that this one sees; none on a system without ``/proc``."""
    try:
        return [int(found.name) for found in Path("/proc").iterdir() if found.name.isdecimal()]
    except OSError:
        return []


def _is_member(found: list[str], group: int) -> bool:
    return int(found[_GROUP]) == group and found[_STATE] not in _ENDED


def _read(pid: int) -> list[str] | None:
    """Return the members of ``/proc/PID/stat`` after the name; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = stat.rpartition(")")[2].split()
    return found if len(found) > _START else None
