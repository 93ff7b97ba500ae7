"""Identity of a process: its id and its start, because ids are used again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_START_FIELD: Final = 19
"""Place of the start time in ``/proc/PID/stat`` after the name, which may have spaces."""


def process_start(pid: int) -> int | None:
    """Return the start time of a process in clock ticks; None if it does not run or the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(stat.rpartition(")")[2].split()[_START_FIELD])
    except (OSError, ValueError, IndexError):
        return None


def is_alive(pid: int, started: int | None) -> bool:
    """Return whether a process still runs; on a system without ``/proc`` it counts as ended."""
    return started is not None and process_start(pid) == started
