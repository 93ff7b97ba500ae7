"""The task of Windows: its file, its commands and its state."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree as ET

import pytest

from opencode_memory.config.load import load
from opencode_memory.platform import system
from opencode_memory.service import find_supervisor
from opencode_memory.service.install import install, plan_uninstall, uninstall
from opencode_memory.service.keeper_lock import LOCK_FILE
from opencode_memory.service.launch import Launch, config_of, plan_launch
from opencode_memory.service.managed import find_service
from opencode_memory.service.manager import MARK, CommandResult
from opencode_memory.service.task_scheduler import TaskScheduler
from opencode_memory.service.unit_file import Change
from support.services import Commands

NAME = "opencode-memory-serve-jö & co"
QUERY = f"schtasks /Query /TN {NAME} /XML"
END = f"schtasks /End /TN {NAME}"
DELETE = f"schtasks /Delete /TN {NAME} /F"
RUN = f"schtasks /Run /TN {NAME}"
UNKNOWN = CommandResult(1, "FEHLER: Das System kann die angegebene Datei nicht finden.")
SPACE = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
LAUNCH = Launch(
    arguments=("C:\\py <3>\\python.exe", "-m", 'a&b "c" $d %e% \\', "serve"),
    environment=MappingProxyType({"OPENCODE_MEMORY_CONFIG": "C:\\ü & co.toml", "OPENCODE_MEMORY_EMBEDDING": "</Data>"}),
)


@pytest.fixture
def supervisor(tmp_path: Path) -> TaskScheduler:
    return TaskScheduler(folder=tmp_path / "service", user="PC\\jö & co")


@contextmanager
def kept(supervisor: TaskScheduler, text: bytes = b"7") -> Iterator[None]:
    """Hold the lock of the keeper, with a process id in it."""
    supervisor.folder.mkdir(exist_ok=True)
    descriptor = system().open(supervisor.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    system().lock(descriptor)
    system().write_start(descriptor, text.ljust(20))
    try:
        yield
    finally:
        os.close(descriptor)


def find_text(text: str, path: str) -> str | None:
    return ET.fromstring(text).findtext("/".join(SPACE + name for name in path.split("/")))


def test_file_of_task_round_trips(supervisor: TaskScheduler) -> None:
    text = supervisor.render(LAUNCH)
    assert text.isascii()
    assert MARK in text
    assert supervisor.parse(text) == LAUNCH


def test_task_starts_keeper_at_login_of_this_user_alone(supervisor: TaskScheduler) -> None:
    text = supervisor.render(LAUNCH)
    keeper = ["-P", "-m", "opencode_memory.service.keeper", str(supervisor.path)]
    assert find_text(text, "Actions/Exec/Command") == LAUNCH.arguments[0]
    assert find_text(text, "Actions/Exec/Arguments") == subprocess.list2cmdline(keeper)
    assert find_text(text, "Triggers/LogonTrigger/UserId") == "PC\\jö & co"
    assert find_text(text, "Principals/Principal/UserId") == "PC\\jö & co"
    assert find_text(text, "Principals/Principal/RunLevel") == "LeastPrivilege"
    assert find_text(text, "Settings/ExecutionTimeLimit") == "PT0S"
    assert find_text(text, "Settings/MultipleInstancesPolicy") == "StopExisting"


def test_task_uses_interpreter_without_window(supervisor: TaskScheduler, tmp_path: Path) -> None:
    windowless = tmp_path / "pythonw.exe"
    windowless.touch()
    launch = Launch(arguments=(str(tmp_path / "python.exe"), "serve"), environment=MappingProxyType({}))
    text = supervisor.render(launch)
    assert find_text(text, "Actions/Exec/Command") == str(windowless)
    assert supervisor.parse(text) == launch


def test_install_registers_and_runs_task(supervisor: TaskScheduler) -> None:
    run = Commands({QUERY: UNKNOWN})
    outcome = install(supervisor, LAUNCH, run=run)
    register = f"schtasks /Create /TN {NAME} /XML {supervisor.path} /F"
    assert run.ran == [QUERY, register, RUN]
    assert (outcome.change, outcome.left) == (Change.CREATED, ())
    assert supervisor.path.read_text(encoding="ascii") == outcome.text


def test_second_install_leaves_running_server_alone(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    run = Commands()
    with kept(supervisor):
        install(supervisor, LAUNCH, run=run)
    assert RUN not in run.ran
    install(supervisor, LAUNCH, run=run)
    assert run.ran[-1] == RUN


def test_changed_task_is_run_again(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    other = Launch(arguments=("C:\\python.exe", "serve", "--port", "9911"), environment=MappingProxyType({}))
    run = Commands()
    with kept(supervisor):
        assert install(supervisor, other, run=run).change is Change.REPLACED
    assert run.ran[-1] == RUN


def test_uninstall_ends_and_deletes_task(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    run = Commands()
    with kept(supervisor):
        outcome = uninstall(supervisor, run=run)
    assert outcome is not None
    assert run.ran == [QUERY, END, DELETE]
    assert not supervisor.path.exists()


def test_uninstall_does_not_end_task_that_does_not_run(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    planned = plan_uninstall(supervisor)
    run = Commands()
    uninstall(supervisor, run=run)
    assert run.ran == [QUERY, DELETE]
    assert planned is not None
    assert [" ".join(step.command) for step in planned.steps] == [DELETE]


def test_uninstall_of_unregistered_task_removes_file(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    run = Commands({QUERY: UNKNOWN})
    outcome = uninstall(supervisor, run=run)
    assert outcome is not None
    assert (run.ran, outcome.left, supervisor.path.exists()) == ([QUERY], (), False)


def test_uninstall_that_is_refused_leaves_commands(supervisor: TaskScheduler) -> None:
    install(supervisor, LAUNCH, run=Commands())
    with kept(supervisor):
        outcome = uninstall(supervisor, run=Commands({END: CommandResult(1, "Zugriff verweigert")}))
    assert outcome is not None
    assert [" ".join(command) for command in outcome.left] == [END, DELETE]


@pytest.mark.parametrize(
    ("ran", "lock", "expected"),
    [
        (CommandResult(0, "<Task/>"), b"7", (True, True, True, 7, "running")),
        (CommandResult(0, "<Task/>"), b"", (True, True, True, None, "starting")),
        (CommandResult(0, "<Enabled>false</Enabled>"), None, (True, False, False, None, "not running")),
        (UNKNOWN, None, (False, False, False, None, "not registered")),
        (CommandResult(127, "schtasks is not installed"), None, (None, None, None, None, "schtasks is not installed")),
    ],
)
def test_state_does_not_depend_on_language(
    supervisor: TaskScheduler, ran: CommandResult, lock: bytes | None, expected: tuple[object, ...]
) -> None:
    run = Commands({QUERY: ran})
    if lock is None:
        state = supervisor.state(run)
    else:
        with kept(supervisor, lock):
            state = supervisor.state(run)
    assert (state.loaded, state.enabled, state.active, state.pid, state.text) == expected


def test_lock_without_keeper_is_outdated(supervisor: TaskScheduler) -> None:
    with kept(supervisor):
        pass
    assert supervisor.state(Commands()).active is False


def test_server_of_task_is_named_with_its_stop_command(supervisor: TaskScheduler, tmp_path: Path) -> None:
    with kept(supervisor):
        found = find_service(7, supervisor=supervisor, run=Commands(), proc=tmp_path)
        assert find_service(8, supervisor=supervisor, run=Commands(), proc=tmp_path) is None
    assert found is not None
    assert found.is_ours
    assert found.stop.startswith("schtasks /End /TN ")


def test_find_supervisor_supports_windows() -> None:
    environment = {"USERDOMAIN": "PC", "USERNAME": "jo", "LOCALAPPDATA": "/local", "USERPROFILE": "/users/jo"}
    assert find_supervisor("win32", environment, uid=None) == TaskScheduler(
        folder=Path("/local/opencode-memory/service"), user="PC\\jo"
    )
    del environment["LOCALAPPDATA"], environment["USERDOMAIN"]
    assert find_supervisor("win32", environment, uid=None) == TaskScheduler(
        folder=Path("/users/jo/AppData/Local/opencode-memory/service"), user="jo"
    )


def test_home_of_a_shell_is_not_that_of_the_task(supervisor: TaskScheduler, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path / "msys"), "USERPROFILE": str(tmp_path / "jo")}
    config = load(environment=environment)
    launch = plan_launch(config, python="python.exe", home_variable=supervisor.home_variable)
    assert launch.arguments[-2:] == ("--data-dir", str(config.data_dir))
    assert config_of(launch, environment, home_variable=supervisor.home_variable).data_dir == config.data_dir


def test_log_is_shown_by_a_command_of_windows(tmp_path: Path) -> None:
    supervisor = TaskScheduler(folder=tmp_path / "jo's", user="jo")
    assert f"Get-Content -Wait -Tail 20 -LiteralPath '{tmp_path}/jo''s/start.log'" in supervisor.logs
