"""The launchd agent: its property list and its commands."""

from __future__ import annotations

import plistlib
from pathlib import Path
from types import MappingProxyType

import pytest

from opencode_memory.service import find_supervisor
from opencode_memory.service.launch import Launch
from opencode_memory.service.launchd import LABEL, Launchd
from opencode_memory.service.manager import MARK, CommandResult
from opencode_memory.service.port_holder import AGENTS
from support.services import Commands

LAUNCHD = Launchd(home=Path("/Users/jo"), uid=501)
TARGET = f"gui/501/{LABEL}"
LAUNCH = Launch(
    arguments=("/opt/py <3>/python3", "-m", 'a&b "c" $d %e \\', "serve"),
    environment=MappingProxyType({"OPENCODE_MEMORY_CONFIG": "/Users/jo/ü & co.toml"}),
)


def test_property_list_round_trips() -> None:
    text = LAUNCHD.render(LAUNCH)
    content = plistlib.loads(text.encode())
    assert content["ProgramArguments"] == list(LAUNCH.arguments)
    assert content["EnvironmentVariables"] == dict(LAUNCH.environment)
    assert content["Label"] == LABEL
    assert content["RunAtLoad"] is True
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert content["Umask"] == 0o077
    assert content["StandardErrorPath"] == "/Users/jo/Library/Logs/opencode-memory/start.log"
    assert MARK in text
    assert LAUNCHD.parse(text) == LAUNCH


def test_command_that_shows_the_log_is_quoted() -> None:
    logs = Launchd(home=Path("/Users/Jo Doe"), uid=501).logs
    assert logs == "tail -f '/Users/Jo Doe/Library/Logs/opencode-memory/start.log'"


def test_predecessor_names_are_not_used() -> None:
    assert LAUNCHD.path == Path("/Users/jo/Library/LaunchAgents/dev.opencode-memory.serve.plist")
    assert LAUNCHD.path.name not in AGENTS


def test_changed_agent_is_unloaded_before_it_is_loaded() -> None:
    first = LAUNCHD.commands_to_start(changed=False, loaded=False)
    assert [command[1] for command in first] == ["enable", "bootstrap"]
    assert first[1] == ("launchctl", "bootstrap", "gui/501", str(LAUNCHD.path))
    again = LAUNCHD.commands_to_start(changed=True, loaded=True)
    assert [command[1] for command in again] == ["bootout", "enable", "bootstrap"]
    assert LAUNCHD.commands_to_start(changed=False, loaded=True)[1] == ("launchctl", "kickstart", TARGET)


def test_unloaded_agent_is_not_stopped() -> None:
    assert LAUNCHD.commands_to_stop(loaded=False) == ()
    assert (
        LAUNCHD.commands_to_stop(loaded=None)
        == LAUNCHD.commands_to_stop(loaded=True)
        == (("launchctl", "bootout", TARGET),)
    )


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (CommandResult(0, "x = {\n\tstate = running\n\tpid = 4711\n\tsub = {\n\t}\n}"), (True, True, 4711, "running")),
        (CommandResult(0, "x = {\n\tstate = spawn scheduled\n}"), (True, False, None, "spawn scheduled")),
        (CommandResult(113, "Could not find service"), (False, False, None, "not loaded")),
        (CommandResult(112, "Could not find domain"), (None, None, None, "Could not find domain")),
        (CommandResult(127, "launchctl is not installed"), (None, None, None, "launchctl is not installed")),
    ],
)
def test_state_is_parsed_from_launchctl(ran: CommandResult, expected: tuple[object, ...]) -> None:
    state = LAUNCHD.state(Commands({f"launchctl print {TARGET}": ran}))
    assert (state.loaded, state.active, state.pid, state.text) == expected


def test_find_supervisor_supports_macos_and_linux() -> None:
    environment = {"HOME": "/home/jo"}
    assert find_supervisor("darwin", environment, uid=501) == Launchd(home=Path("/home/jo"), uid=501)
    assert find_supervisor("linux", environment, uid=1).path == Path(
        "/home/jo/.config/systemd/user/opencode-memory-serve.service"
    )
    with pytest.raises(Exception, match="freebsd14 has none of them") as caught:
        find_supervisor("freebsd14", environment, uid=1)
    assert "opencode-memory serve" in str(caught.value.hint)
