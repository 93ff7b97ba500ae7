"""The systemd unit: its content and its escaping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import CommandResult
from opencode_memory.service.port_holder import SERVICES
from opencode_memory.service.systemd import UNIT, Systemd, quote
from support.services import Commands

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}
SYSTEMD = Systemd(Path("/home/jo/.config/systemd/user"))
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def parse_words(line: str) -> Iterator[str]:
    """Parse a line by the rules of systemd.syntax(7), and require that no word contains a specifier."""
    position = 0
    while position < len(line):
        while position < len(line) and line[position] in " \t\n\r":
            position += 1
        word, quoted_by = "", None
        start = position
        while position < len(line) and (quoted_by or line[position] not in " \t\n\r"):
            character = line[position]
            if character == "\\":
                escape = line[position + 1]
                if escape == "x":
                    word += chr(int(line[position + 2 : position + 4], 16))
                    position += 2
                else:
                    word += ESCAPES[escape]
                position += 1
            elif character == quoted_by:
                quoted_by = None
            elif character in "\"'" and position == start:
                quoted_by = character
            else:
                assert quoted_by or character not in "\"'"
                word += character
            position += 1
        assert quoted_by is None
        # systemd.unit(5): a percent sign starts a specifier; two percent signs are a literal one.
        assert "%" not in word.replace("%%", "")
        yield word.replace("%%", "%")


def unescape_variables(word: str) -> str:
    """Unescape a word by the rules of systemd.service(5), and require that it contains no variable."""
    assert "$" not in word.replace("$$", "")
    return word.replace("$$", "$")


def build_launch(*arguments: str, **environment: str) -> Launch:
    return Launch(arguments=arguments or ("/usr/bin/python3", "serve"), environment=MappingProxyType(environment))


def read_setting(text: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


@given(st.lists(WORDS, min_size=1))
def test_quoted_words_round_trip(words: list[str]) -> None:
    line = " ".join(quote(word, variables=True) for word in words)
    assert [unescape_variables(word) for word in parse_words(line)] == words
    assert "\n" not in line
    line = " ".join(quote(word, variables=False) for word in words)
    assert list(parse_words(line)) == words


@pytest.mark.parametrize(
    ("word", "written"),
    # Verified with systemd 252 (systemd --user --test).
    [
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("", '""'),
        (";", '";"'),
        ("#", '"#"'),
        ("a b%h", '"a b%%h"'),
        ("$HOME", "$$HOME"),
        ("${HOME}", '"$${HOME}"'),
        ("end\\", '"end\\\\"'),
        ('"', '"\\""'),
        ("'", '"\'"'),
        ("tab\there", '"tab\\x09here"'),
        ("漢字\u3000é", '"漢字\u3000é"'),
    ],
)
def test_quote_follows_systemd_syntax(word: str, written: str) -> None:
    assert quote(word, variables=True) == written


@given(st.lists(WORDS, min_size=1), st.dictionaries(st.from_regex("[A-Z_]{1,9}", fullmatch=True), WORDS))
def test_unit_round_trips(words: list[str], environment: dict[str, str]) -> None:
    given_launch = build_launch("/usr/bin/python3", *words, **environment)
    assert SYSTEMD.parse(SYSTEMD.render(given_launch)) == given_launch


@pytest.mark.parametrize(
    "program", ['/a"b/python3', "/a'b/python3", "/a\\b/python3", "/a$b/python3", "/a${HOME}/python3"]
)
def test_program_that_systemd_refuses_is_started_by_env(program: str) -> None:
    unit = SYSTEMD.render(build_launch(program, "serve"))
    (line,) = read_setting(unit, "ExecStart")
    words = [unescape_variables(word) for word in parse_words(line)]
    assert words == ["/usr/bin/env", program, "serve"]
    assert SYSTEMD.parse(unit).arguments == (program, "serve")


def test_line_break_in_value_adds_no_setting() -> None:
    unit = SYSTEMD.render(
        build_launch("/usr/bin/python3", "a\nExecStartPre=/bin/evil", A="b\n[Install]\nAlias=ssh.service")
    )
    assert not read_setting(unit, "ExecStartPre")
    assert not read_setting(unit, "Alias")
    assert read_setting(unit, "Environment") == ['"A=b\\x0a[Install]\\x0aAlias=ssh.service"']


def test_unit_has_restart_limits_and_private_umask() -> None:
    unit = SYSTEMD.render(build_launch())
    for name, value in {
        "ExecStart": "/usr/bin/python3 serve",
        "Restart": "on-failure",
        "StartLimitBurst": "10",
        "KillSignal": "SIGTERM",
        "TimeoutStopSec": "10",
        "UMask": "0077",
        "NoNewPrivileges": "yes",
        "WantedBy": "default.target",
    }.items():
        assert read_setting(unit, name) == [value]
    assert not read_setting(unit, "Environment")
    # Settings that drop capabilities or need a mount namespace keep a user unit from starting.
    for name in ("ProtectSystem", "PrivateTmp", "CapabilityBoundingSet", "ProtectClock", "ProtectKernelModules"):
        assert not read_setting(unit, name)


def test_predecessor_names_are_not_used() -> None:
    assert UNIT not in SERVICES
    commands = [
        *SYSTEMD.commands_to_start(changed=True, loaded=True),
        *SYSTEMD.commands_to_stop(loaded=True),
        *SYSTEMD.commands_to_stop_removed(),
    ]
    assert all(word not in SERVICES for command in commands for word in command)


def test_only_changed_unit_restarts_server() -> None:
    assert SYSTEMD.commands_to_start(changed=False, loaded=True) == (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", UNIT),
    )
    assert [command[2] for command in SYSTEMD.commands_to_start(changed=True, loaded=True)] == [
        "daemon-reload",
        "enable",
        "restart",
    ]


def test_state_is_parsed_from_systemctl() -> None:
    output = (
        "MainPID=4711\nResult=success\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled"
    )
    state = SYSTEMD.state(Commands({"systemctl --user show": CommandResult(0, output)}))
    assert (state.loaded, state.enabled, state.active, state.pid) == (True, True, True, 4711)
    assert state.text == "active (running)"


def test_failed_service_is_inactive_with_reason() -> None:
    output = "MainPID=0\nResult=exit-code\nLoadState=loaded\nActiveState=failed\nSubState=failed\nUnitFileState=enabled"
    state = SYSTEMD.state(Commands({"systemctl --user show": CommandResult(0, output)}))
    assert (state.active, state.pid, state.text) == (False, None, "failed (failed), exit-code")


def test_state_without_bus_is_unknown() -> None:
    state = SYSTEMD.state(
        Commands({"systemctl --user show": CommandResult(1, "Failed to connect to bus: No medium found")})
    )
    assert (state.loaded, state.enabled, state.active, state.pid) == (None, None, None, None)
    assert state.text == "Failed to connect to bus: No medium found"
