"""The systemd unit: what is in it, and that systemd reads what was meant."""

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
PLACE = Systemd(Path("/home/jo/.config/systemd/user"))
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def words_as_systemd_reads_them(line: str) -> Iterator[str]:
    """Read a line by the rules of systemd.syntax(7), one character after the other; no word has a specifier left."""
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
        # systemd.unit(5): a percent sign begins a specifier, and only two of them are one.
        assert "%" not in word.replace("%%", "")
        yield word.replace("%%", "%")


def without_variables(word: str) -> str:
    """Read a word of a command line by the rules of systemd.service(5), with no variable in it."""
    assert "$" not in word.replace("$$", "")
    return word.replace("$$", "$")


def launch(*arguments: str, **environment: str) -> Launch:
    return Launch(arguments=arguments or ("/usr/bin/python3", "serve"), environment=MappingProxyType(environment))


def setting(text: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{name}=")]


@given(st.lists(WORDS, min_size=1))
def test_systemd_reads_every_word_as_it_was_meant(words: list[str]) -> None:
    line = " ".join(quote(word, variables=True) for word in words)
    assert [without_variables(word) for word in words_as_systemd_reads_them(line)] == words
    assert "\n" not in line
    line = " ".join(quote(word, variables=False) for word in words)
    assert list(words_as_systemd_reads_them(line)) == words


@pytest.mark.parametrize(
    ("word", "written"),
    # Compared with what systemd 252 says that it read (systemd --user --test).
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
def test_words_are_written_as_systemd_reads_them(word: str, written: str) -> None:
    assert quote(word, variables=True) == written


@given(st.lists(WORDS, min_size=1), st.dictionaries(st.from_regex("[A-Z_]{1,9}", fullmatch=True), WORDS))
def test_a_unit_can_be_read_back(words: list[str], environment: dict[str, str]) -> None:
    given_launch = launch("/usr/bin/python3", *words, **environment)
    assert PLACE.parse(PLACE.render(given_launch)) == given_launch


@pytest.mark.parametrize(
    "program", ['/a"b/python3', "/a'b/python3", "/a\\b/python3", "/a$b/python3", "/a${HOME}/python3"]
)
def test_a_program_that_systemd_would_refuse_is_started_by_env(program: str) -> None:
    unit = PLACE.render(launch(program, "serve"))
    (line,) = setting(unit, "ExecStart")
    words = [without_variables(word) for word in words_as_systemd_reads_them(line)]
    assert words == ["/usr/bin/env", program, "serve"]
    assert PLACE.parse(unit).arguments == (program, "serve")


def test_nothing_that_is_carried_becomes_a_setting_of_its_own() -> None:
    unit = PLACE.render(launch("/usr/bin/python3", "a\nExecStartPre=/bin/evil", A="b\n[Install]\nAlias=ssh.service"))
    assert not setting(unit, "ExecStartPre")
    assert not setting(unit, "Alias")
    assert setting(unit, "Environment") == ['"A=b\\x0a[Install]\\x0aAlias=ssh.service"']


def test_the_unit_restarts_after_a_failure_gives_up_in_the_end_and_keeps_its_files_private() -> None:
    unit = PLACE.render(launch())
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
        assert setting(unit, name) == [value]
    assert not setting(unit, "Environment")
    # What drops capabilities or needs a mount namespace keeps a unit of a user from starting.
    for name in ("ProtectSystem", "PrivateTmp", "CapabilityBoundingSet", "ProtectClock", "ProtectKernelModules"):
        assert not setting(unit, name)


def test_the_names_of_the_predecessor_are_not_used() -> None:
    assert UNIT not in SERVICES
    commands = [
        *PLACE.commands_to_start(changed=True, loaded=True),
        *PLACE.commands_to_stop(loaded=True),
        *PLACE.commands_to_stop_removed(),
    ]
    assert all(word not in SERVICES for command in commands for word in command)


def test_a_changed_unit_restarts_the_server_and_an_unchanged_one_does_not() -> None:
    assert PLACE.commands_to_start(changed=False, loaded=True) == (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", UNIT),
    )
    assert [command[2] for command in PLACE.commands_to_start(changed=True, loaded=True)] == [
        "daemon-reload",
        "enable",
        "restart",
    ]


def test_the_state_is_what_systemctl_shows() -> None:
    said = "MainPID=4711\nResult=success\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled"
    state = PLACE.state(Commands({"systemctl --user show": CommandResult(0, said)}))
    assert (state.loaded, state.enabled, state.active, state.pid) == (True, True, True, 4711)
    assert state.text == "active (running)"


def test_a_server_that_ended_in_failure_is_not_active_and_the_reason_is_told() -> None:
    said = "MainPID=0\nResult=exit-code\nLoadState=loaded\nActiveState=failed\nSubState=failed\nUnitFileState=enabled"
    state = PLACE.state(Commands({"systemctl --user show": CommandResult(0, said)}))
    assert (state.active, state.pid, state.text) == (False, None, "failed (failed), exit-code")


def test_without_a_bus_nothing_is_known() -> None:
    state = PLACE.state(
        Commands({"systemctl --user show": CommandResult(1, "Failed to connect to bus: No medium found")})
    )
    assert (state.loaded, state.enabled, state.active, state.pid) == (None, None, None, None)
    assert state.text == "Failed to connect to bus: No medium found"
