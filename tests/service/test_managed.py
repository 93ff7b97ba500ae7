"""Service managers that run a process and would start it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.service.launchd import Launchd
from opencode_memory.service.managed import Managed, find_service
from opencode_memory.service.manager import CommandResult
from opencode_memory.service.systemd import Systemd
from support.services import NO_BUS, Commands

SHOW = "systemctl --user show"


def proc_with_cgroup(folder: Path, path: str) -> Path:
    (folder / "7").mkdir(parents=True)
    (folder / "7" / "cgroup").write_text(f"0::{path}\n")
    return folder


def test_installed_service_is_named_with_its_stop_command(tmp_path: Path) -> None:
    run = Commands({SHOW: CommandResult(0, "LoadState=loaded\nActiveState=active\nMainPID=7")})
    found = find_service(7, supervisor=Systemd(tmp_path), run=run, proc=tmp_path)
    stop = "systemctl --user stop opencode-memory-serve.service"
    assert found == Managed(name="opencode-memory-serve", stop=stop, is_ours=True)
    assert find_service(8, supervisor=Systemd(tmp_path), run=run, proc=tmp_path) is None


def test_launchd_agent_is_named_with_its_stop_command(tmp_path: Path) -> None:
    run = Commands({"launchctl print": CommandResult(0, "\tstate = running\n\tpid = 7\n")})
    found = find_service(7, supervisor=Launchd(tmp_path, uid=501), run=run, proc=tmp_path)
    assert found is not None
    assert found.stop == "launchctl bootout gui/501/dev.opencode-memory.serve"


@pytest.mark.parametrize(
    ("path", "systemctl"),
    [
        ("/user.slice/user-1.slice/user@1.service/app.slice/mine.service", "systemctl --user"),
        ("/system.slice/mine.service", "systemctl"),
    ],
)
def test_unit_of_the_user_or_system_is_found(tmp_path: Path, path: str, systemctl: str) -> None:
    run = Commands({f"{systemctl} show mine.service": CommandResult(0, "MainPID=7")})
    found = find_service(7, supervisor=None, run=run, proc=proc_with_cgroup(tmp_path, path))
    assert found == Managed(name="mine.service", stop=f"{systemctl} stop mine.service", is_ours=False)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        # A terminal that runs as a unit, of which the server is not the main process.
        ("/user.slice/user@1.service/app.slice/terminal.service", CommandResult(0, "MainPID=70")),
        ("/system.slice/mine.service", NO_BUS),
    ],
)
def test_process_within_another_unit_is_no_service(tmp_path: Path, path: str, answer: CommandResult) -> None:
    run = Commands({"systemctl": answer})
    assert find_service(7, supervisor=None, run=run, proc=proc_with_cgroup(tmp_path, path)) is None
    assert len(run.ran) == 1


@pytest.mark.parametrize("path", ["/user.slice/session-3.scope", "/user.slice/user@1.service", "/a;b.service", "/"])
def test_process_outside_of_units_runs_no_command(tmp_path: Path, path: str) -> None:
    run = Commands()
    assert find_service(7, supervisor=None, run=run, proc=proc_with_cgroup(tmp_path, path)) is None
    assert find_service(8, supervisor=None, run=run, proc=tmp_path) is None
    assert run.ran == []
