"""Installing and removing the service: files, commands, and what is left when they fail."""

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
from support.services import Commands

LAUNCH = Launch(arguments=("/usr/bin/python3", "serve"), environment=MappingProxyType({}))
OTHER = Launch(arguments=("/usr/bin/python3", "serve", "--port", "9911"), environment=MappingProxyType({}))
NO_BUS = CommandResult(1, "Failed to connect to bus: No medium found")
RELOAD = "systemctl --user daemon-reload"
ENABLE = f"systemctl --user enable --now {UNIT}"
DISABLE = f"systemctl --user disable --now {UNIT}"


@pytest.fixture
def place(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path / "config" / "systemd" / "user")


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path): None if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


def test_installing_writes_the_unit_privately_placed_and_starts_it(place: Systemd, tmp_path: Path) -> None:
    run = Commands()
    outcome = install(place, LAUNCH, run=run)
    assert outcome.change is Change.CREATED
    assert outcome.left == ()
    assert place.path.read_text() == outcome.text == place.render(LAUNCH)
    assert run.changes == [RELOAD, ENABLE]
    assert place.path.stat().st_mode & 0o777 == 0o644
    for folder in (place.folder, place.folder.parent, tmp_path / "config"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in place.folder.iterdir()] == [UNIT]


def test_installing_again_changes_no_file_and_restarts_nothing(place: Systemd) -> None:
    install(place, LAUNCH, run=Commands())
    before = place.path.stat()
    run = Commands()
    outcome = install(place, LAUNCH, run=run)
    assert outcome.change is Change.UNCHANGED
    assert (place.path.stat().st_ino, place.path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert run.changes == [RELOAD, ENABLE]


def test_other_settings_replace_the_file_and_restart_the_server(place: Systemd) -> None:
    install(place, LAUNCH, run=Commands())
    run = Commands()
    outcome = install(place, OTHER, run=run)
    assert outcome.change is Change.REPLACED
    assert place.parse(place.path.read_text()) == OTHER
    assert run.changes == [RELOAD, f"systemctl --user enable {UNIT}", f"systemctl --user restart {UNIT}"]


def test_a_server_whose_file_was_removed_by_hand_is_restarted(place: Systemd) -> None:
    run = Commands({"systemctl --user show": CommandResult(0, "LoadState=loaded\nActiveState=active")})
    install(place, LAUNCH, run=run)
    assert run.changes[-1] == f"systemctl --user restart {UNIT}"


@pytest.mark.parametrize("kind", ["a file", "a masked unit", "a link", "a folder"])
def test_what_others_wrote_under_the_name_is_neither_replaced_nor_removed(
    place: Systemd, tmp_path: Path, kind: str
) -> None:
    place.folder.mkdir(parents=True)
    if kind == "a file":
        place.path.write_text("[Service]\nExecStart=/bin/true\n")
    elif kind == "a masked unit":
        place.path.symlink_to("/dev/null")
    elif kind == "a link":
        (tmp_path / "target").write_text(place.render(LAUNCH))
        place.path.symlink_to(tmp_path / "target")
    else:
        place.path.mkdir()
    before = tree(tmp_path) if kind != "a masked unit" else None
    run = Commands()
    for attempt in (
        lambda: install(place, OTHER, run=run),
        lambda: uninstall(place, run=run),
        lambda: plan_install(place, OTHER),
        lambda: plan_uninstall(place),
    ):
        with pytest.raises(ConflictError, match="left unchanged"):
            attempt()
    assert run.ran == []
    assert before is None or tree(tmp_path) == before


def test_without_a_bus_the_file_stays_and_the_rest_is_left_to_do(place: Systemd) -> None:
    run = Commands({"systemctl": NO_BUS})
    outcome = install(place, LAUNCH, run=run)
    assert place.path.exists()
    assert run.changes == [RELOAD]
    assert [(step.code, step.said) for step in outcome.steps] == [(1, NO_BUS.output), (None, "")]
    assert [" ".join(command) for command in outcome.left] == [RELOAD, ENABLE]


def test_a_dry_run_touches_nothing_and_says_what_would_come(place: Systemd, tmp_path: Path) -> None:
    plan = plan_install(place, LAUNCH)
    assert (plan.change, plan.text) == (Change.CREATED, place.render(LAUNCH))
    assert [" ".join(step.command) for step in plan.steps] == [RELOAD, ENABLE]
    assert plan_uninstall(place) is None
    assert tree(tmp_path) == {}
    install(place, LAUNCH, run=Commands())
    before = tree(tmp_path)
    removal = plan_uninstall(place)
    assert removal is not None
    assert [" ".join(step.command) for step in removal.steps] == [DISABLE, RELOAD]
    assert plan_install(place, OTHER).change is Change.REPLACED
    assert tree(tmp_path) == before


def test_uninstalling_stops_the_server_and_removes_exactly_our_file(place: Systemd) -> None:
    install(place, LAUNCH, run=Commands())
    predecessors = place.folder / "opencode-memory.service"
    predecessors.write_text("[Service]\n")
    run = Commands()
    outcome = uninstall(place, run=run)
    assert outcome is not None
    assert (outcome.change, outcome.left) == (Change.REMOVED, ())
    assert run.changes == [DISABLE, RELOAD]
    assert [path.name for path in place.folder.iterdir()] == [predecessors.name]
    assert uninstall(place, run=run) is None


def test_a_server_that_cannot_be_stopped_does_not_come_back_at_the_next_login(place: Systemd) -> None:
    install(place, LAUNCH, run=Commands())
    wanted = place.folder / "default.target.wants"
    wanted.mkdir()
    (wanted / UNIT).symlink_to(place.path)
    (wanted / "opencode-memory.service").symlink_to(place.folder / "opencode-memory.service")
    outcome = uninstall(place, run=Commands({"systemctl": NO_BUS}))
    assert outcome is not None
    assert [" ".join(command) for command in outcome.left] == [f"systemctl --user stop {UNIT}", RELOAD]
    assert not place.path.exists()
    assert [path.name for path in wanted.iterdir()] == ["opencode-memory.service"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot (read|create|write)"):
        install(Systemd(tmp_path / "file" / "systemd"), LAUNCH, run=Commands())


def test_launchd_is_asked_again_while_the_old_agent_ends(tmp_path: Path) -> None:
    place = Launchd(home=tmp_path, uid=501)
    busy = CommandResult(5, "Bootstrap failed: 5: Input/output error")
    run = Commands({"launchctl bootstrap": [busy, busy, CommandResult(0, "")]})
    pauses: list[float] = []
    outcome = install(place, LAUNCH, run=run, pause=pauses.append)
    assert outcome.left == ()
    assert len(pauses) == 2
    assert (tmp_path / "Library" / "Logs" / "opencode-memory").is_dir()


def test_launchd_is_not_asked_for_ever(tmp_path: Path) -> None:
    pauses: list[float] = []
    run = Commands({"launchctl bootstrap": CommandResult(5, "Bootstrap failed: 5: Input/output error")})
    outcome = install(Launchd(home=tmp_path, uid=501), LAUNCH, run=run, pause=pauses.append)
    assert [command[1] for command in outcome.left] == ["bootstrap"]
    assert sum(pauses) < 10


def test_a_program_that_is_not_there_is_an_answer_and_no_crash(tmp_path: Path) -> None:
    run = make_runner({"PATH": str(tmp_path)})
    assert run(("systemctl", "--user", "daemon-reload")) == CommandResult(127, "systemctl is not installed")
    (tmp_path / "systemctl").write_text("")
    assert run(("systemctl",)) == CommandResult(127, "systemctl cannot be run: Permission denied")


def test_a_command_answers_with_its_code_and_all_that_it_said() -> None:
    program = "import sys, os; print(os.environ['A']); sys.stdout.flush(); print('bad', file=sys.stderr); sys.exit(3)"
    assert make_runner({"A": "b"})((sys.executable, "-c", program)) == CommandResult(3, "b\nbad")
