"""Installation and removal of the service: files, commands, and commands left after a failure."""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.service.install import install, plan_install, plan_uninstall, uninstall
from opencode_memory.service.launch import Launch
from opencode_memory.service.launchd import Launchd
from opencode_memory.service.manager import CommandResult, make_runner
from opencode_memory.service.systemd import UNIT, Systemd
from opencode_memory.service.unit_file import Change
from support.services import NO_BUS, Commands

LAUNCH = Launch(arguments=("/usr/bin/python3", "serve"), environment=MappingProxyType({}))
OTHER = Launch(arguments=("/usr/bin/python3", "serve", "--port", "9911"), environment=MappingProxyType({}))
RELOAD = "systemctl --user daemon-reload"
ENABLE = f"systemctl --user enable --now {UNIT}"
DISABLE = f"systemctl --user disable --now {UNIT}"


@pytest.fixture
def supervisor(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path / "config" / "systemd" / "user")


def read_tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path): None if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


def test_install_writes_unit_in_private_folders_and_starts_it(supervisor: Systemd, tmp_path: Path) -> None:
    run = Commands()
    outcome = install(supervisor, LAUNCH, run=run)
    assert outcome.change is Change.CREATED
    assert outcome.left == ()
    assert supervisor.path.read_text() == outcome.text == supervisor.render(LAUNCH)
    assert run.changes == [RELOAD, ENABLE]
    assert supervisor.path.stat().st_mode & 0o777 == 0o644
    for folder in (supervisor.folder, supervisor.folder.parent, tmp_path / "config"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in supervisor.folder.iterdir()] == [UNIT]


def test_second_install_changes_no_file_and_does_not_restart(supervisor: Systemd) -> None:
    install(supervisor, LAUNCH, run=Commands())
    before = supervisor.path.stat()
    run = Commands()
    outcome = install(supervisor, LAUNCH, run=run)
    assert outcome.change is Change.UNCHANGED
    assert (supervisor.path.stat().st_ino, supervisor.path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert run.changes == [RELOAD, ENABLE]


def test_changed_settings_replace_file_and_restart_server(supervisor: Systemd) -> None:
    install(supervisor, LAUNCH, run=Commands())
    run = Commands()
    outcome = install(supervisor, OTHER, run=run)
    assert outcome.change is Change.REPLACED
    assert supervisor.parse(supervisor.path.read_text()) == OTHER
    assert run.changes == [RELOAD, f"systemctl --user enable {UNIT}", f"systemctl --user restart {UNIT}"]


def test_loaded_service_without_file_is_restarted(supervisor: Systemd) -> None:
    run = Commands({"systemctl --user show": CommandResult(0, "LoadState=loaded\nActiveState=active")})
    install(supervisor, LAUNCH, run=run)
    assert run.changes[-1] == f"systemctl --user restart {UNIT}"


@pytest.mark.parametrize("kind", ["a file", "a masked unit", "a link", "a folder"])
def test_foreign_file_is_neither_replaced_nor_removed(supervisor: Systemd, tmp_path: Path, kind: str) -> None:
    supervisor.folder.mkdir(parents=True)
    if kind == "a file":
        supervisor.path.write_text("[Service]\nExecStart=/bin/true\n")
    elif kind == "a masked unit":
        supervisor.path.symlink_to("/dev/null")
    elif kind == "a link":
        (tmp_path / "target").write_text(supervisor.render(LAUNCH))
        supervisor.path.symlink_to(tmp_path / "target")
    else:
        supervisor.path.mkdir()
    before = read_tree(tmp_path) if kind != "a masked unit" else None
    run = Commands()
    for attempt in (
        lambda: install(supervisor, OTHER, run=run),
        lambda: uninstall(supervisor, run=run),
        lambda: plan_install(supervisor, OTHER),
        lambda: plan_uninstall(supervisor),
    ):
        with pytest.raises(ConflictError, match="left unchanged"):
            attempt()
    assert run.ran == []
    assert before is None or read_tree(tmp_path) == before


def test_install_without_bus_keeps_file_and_leaves_commands(supervisor: Systemd) -> None:
    run = Commands({"systemctl": NO_BUS})
    outcome = install(supervisor, LAUNCH, run=run)
    assert supervisor.path.exists()
    assert run.changes == [RELOAD]
    assert [(step.code, step.said) for step in outcome.steps] == [(1, NO_BUS.output), (None, "")]
    assert [" ".join(command) for command in outcome.left] == [RELOAD, ENABLE]


def test_plan_changes_no_files(supervisor: Systemd, tmp_path: Path) -> None:
    plan = plan_install(supervisor, LAUNCH)
    assert (plan.change, plan.text) == (Change.CREATED, supervisor.render(LAUNCH))
    assert [" ".join(step.command) for step in plan.steps] == [RELOAD, ENABLE]
    assert plan_uninstall(supervisor) is None
    assert read_tree(tmp_path) == {}
    install(supervisor, LAUNCH, run=Commands())
    before = read_tree(tmp_path)
    removal = plan_uninstall(supervisor)
    assert removal is not None
    assert [" ".join(step.command) for step in removal.steps] == [DISABLE, RELOAD]
    assert plan_install(supervisor, OTHER).change is Change.REPLACED
    assert read_tree(tmp_path) == before


def test_uninstall_stops_server_and_removes_only_our_file(supervisor: Systemd) -> None:
    install(supervisor, LAUNCH, run=Commands())
    predecessors = supervisor.folder / "opencode-memory.service"
    predecessors.write_text("[Service]\n")
    run = Commands()
    outcome = uninstall(supervisor, run=run)
    assert outcome is not None
    assert (outcome.change, outcome.left) == (Change.REMOVED, ())
    assert run.changes == [DISABLE, RELOAD]
    assert [path.name for path in supervisor.folder.iterdir()] == [predecessors.name]
    assert uninstall(supervisor, run=run) is None


def test_uninstall_removes_file_of_server_that_cannot_stop(supervisor: Systemd) -> None:
    install(supervisor, LAUNCH, run=Commands())
    wanted = supervisor.folder / "default.target.wants"
    wanted.mkdir()
    (wanted / UNIT).symlink_to(supervisor.path)
    (wanted / "opencode-memory.service").symlink_to(supervisor.folder / "opencode-memory.service")
    outcome = uninstall(supervisor, run=Commands({"systemctl": NO_BUS}))
    assert outcome is not None
    assert [" ".join(command) for command in outcome.left] == [f"systemctl --user stop {UNIT}", RELOAD]
    assert not supervisor.path.exists()
    assert [path.name for path in wanted.iterdir()] == ["opencode-memory.service"]


def test_folder_that_cannot_be_created_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot (read|create|write)"):
        install(Systemd(tmp_path / "file" / "systemd"), LAUNCH, run=Commands())


def test_launchd_bootstrap_is_retried_while_busy(tmp_path: Path) -> None:
    supervisor = Launchd(home=tmp_path, uid=501)
    busy = CommandResult(5, "Bootstrap failed: 5: Input/output error")
    run = Commands({"launchctl bootstrap": [busy, busy, CommandResult(0, "")]})
    pauses: list[float] = []
    outcome = install(supervisor, LAUNCH, run=run, pause=pauses.append)
    assert outcome.left == ()
    assert len(pauses) == 2
    assert (tmp_path / "Library" / "Logs" / "opencode-memory").is_dir()


def test_launchd_bootstrap_retries_are_limited(tmp_path: Path) -> None:
    pauses: list[float] = []
    run = Commands({"launchctl bootstrap": CommandResult(5, "Bootstrap failed: 5: Input/output error")})
    outcome = install(Launchd(home=tmp_path, uid=501), LAUNCH, run=run, pause=pauses.append)
    assert [command[1] for command in outcome.left] == ["bootstrap"]
    assert sum(pauses) < 10


def test_runner_reports_missing_program(tmp_path: Path) -> None:
    run = make_runner({"PATH": str(tmp_path)})
    assert run(("systemctl", "--user", "daemon-reload")) == CommandResult(127, "systemctl is not installed")
    (tmp_path / "systemctl").write_text("")
    assert run(("systemctl",)) == CommandResult(127, "systemctl cannot be run: Permission denied")


def test_runner_returns_exit_code_and_output() -> None:
    program = "import sys, os; print(os.environ['A']); sys.stdout.flush(); print('bad', file=sys.stderr); sys.exit(3)"
    assert make_runner({"A": "b"})((sys.executable, "-c", program)) == CommandResult(3, "b\nbad")
