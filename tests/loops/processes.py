"""Processes that stand for those of a server."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from opencode_memory.loops.process import ProcessId, identify


def dead_process() -> ProcessId:
    """A process that has ended."""
    with subprocess.Popen(["sleep", "300"]) as process:
        found = identify(process.pid)
        process.kill()
    assert found is not None
    return found


def elsewhere(process: ProcessId) -> ProcessId:
    """The same numbers on another machine."""
    return replace(process, machine="another machine")


def has_ended(pid: int) -> bool:
    """Whether a process has ended; one that its parent has not asked for yet, or asks for just now, has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True
