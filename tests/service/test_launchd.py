"""The launchd agent: what is in it, and how it is loaded."""

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

PLACE = Launchd(home=Path("/Users/jo"), uid=501)
TARGET = f"gui/501/{LABEL}"
LAUNCH = Launch(
    arguments=("/opt/py <3>/python3", "-m", 'a&b "c" $d %e \\', "serve"),
    environment=MappingProxyType({"OPENCODE_MEMORY_CONFIG": "/Users/jo/ü & co.toml"}),
)


def test_the_agent_holds_what_is_started_as_it_is_and_can_be_read_back() -> None:
    text = PLACE.render(LAUNCH)
    content = plistlib.loads(text.encode())
    assert content["ProgramArguments"] == list(LAUNCH.arguments)
    assert content["EnvironmentVariables"] == dict(LAUNCH.environment)
    assert content["Label"] == LABEL
    assert content["RunAtLoad"] is True
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert content["Umask"] == 0o077
    assert content["StandardErrorPath"] == "/Users/jo/Library/Logs/opencode-memory/start.log"
    assert MARK in text
    assert PLACE.parse(text) == LAUNCH


def test_the_names_of_the_predecessor_are_not_used() -> None:
    assert PLACE.path == Path("/Users/jo/Library/LaunchAgents/dev.opencode-memory.serve.plist")
    assert PLACE.path.name not in AGENTS


def test_an_agent_that_is_loaded_goes_before_it_comes_anew() -> None:
    first = PLACE.commands_to_start(changed=False, loaded=False)
    assert [command[1] for command in first] == ["enable", "bootstrap"]
    assert first[1] == ("launchctl", "bootstrap", "gui/501", str(PLACE.path))
    again = PLACE.commands_to_start(changed=True, loaded=True)
    assert [command[1] for command in again] == ["bootout", "enable", "bootstrap"]
    assert PLACE.commands_to_start(changed=False, loaded=True)[1] == ("launchctl", "kickstart", TARGET)


def test_an_agent_that_is_not_loaded_is_not_stopped() -> None:
    assert PLACE.commands_to_stop(loaded=False) == ()
    assert (
        PLACE.commands_to_stop(loaded=None)
        == PLACE.commands_to_stop(loaded=True)
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
def test_the_state_is_what_launchctl_prints(ran: CommandResult, expected: tuple[object, ...]) -> None:
    state = PLACE.state(Commands({f"launchctl print {TARGET}": ran}))
    assert (state.loaded, state.active, state.pid, state.text) == expected


def test_each_platform_has_its_own_and_the_others_are_told() -> None:
    environment = {"HOME": "/home/jo"}
    assert find_supervisor("darwin", environment, uid=501) == Launchd(home=Path("/home/jo"), uid=501)
    assert find_supervisor("linux", environment, uid=1).path == Path(
        "/home/jo/.config/systemd/user/opencode-memory-serve.service"
    )
    with pytest.raises(Exception, match="and freebsd14 has neither") as caught:
        find_supervisor("freebsd14", environment, uid=1)
    assert "opencode-memory serve" in str(caught.value.hint)
