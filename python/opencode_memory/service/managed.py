"""Finds the service manager that runs a process, and would start it again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.service.listeners import PROC
from opencode_memory.service.manager import Command, Runner, Supervisor
from opencode_memory.service.shell import join

_UNIT: Final = re.compile(r"[\w.@:\\-]{1,200}\.service", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """A service whose main process is a server.

    Attributes:
        name: The name of the service.
        stop: The command line that stops it until the next login.
        is_ours: Whether ``opencode-memory service install`` wrote it.
    """

    name: str
    stop: str
    is_ours: bool


def find_service(pid: int, *, supervisor: Supervisor | None, run: Runner, proc: Path = PROC) -> Managed | None:
    """Return the service whose main process is this one; None if there is none.

    Args:
        pid: The process.
        supervisor: The supervisor of services of this package; None on a platform without one.
        run: Runs the commands that query the state.
        proc: Linux's process file system.
    """
    if supervisor is not None and supervisor.state(run).pid == pid:
        # Its first command stops a service and keeps its file.
        stop = supervisor.commands_to_stop_removed()[0]
        return Managed(name=supervisor.path.stem, stop=join(stop), is_ours=True)
    return _find_other_unit(pid, run=run, proc=proc)


def _find_other_unit(pid: int, *, run: Runner, proc: Path) -> Managed | None:
    """Return the systemd unit that the user or the administrator wrote for a server."""
    try:
        path = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    unit = path.rpartition("/")[2]
    # Terminals are units, too. Only the main process of a unit is restarted.
    if not _UNIT.fullmatch(unit) or unit.startswith("user@"):
        return None
    systemctl: Command = ("systemctl", "--user") if "/user@" in path else ("systemctl",)
    ran = run((*systemctl, "show", unit, "--property=MainPID"))
    if ran.code != 0 or f"MainPID={pid}" not in ran.output.splitlines():
        return None
    return Managed(name=unit, stop=join((*systemctl, "stop", unit)), is_ours=False)
