"""The service as a systemd user unit: its text, and the commands of ``systemctl --user``.

All values in the unit are escaped by ``quote``. Otherwise systemd would read a percent sign as a specifier, a dollar
sign as a variable, and a space as the end of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import MARK, Command, Runner, ServiceState

UNIT: Final = "opencode-memory-serve.service"
_TEMPLATE: Final = """\
# {mark}
# To remove it: opencode-memory service uninstall. To add settings of your own: systemctl --user edit {unit}

[Unit]
Description=opencode-memory, memory for coding agents
# If the server cannot start, for example because the port is in use, give up after some attempts.
# Otherwise the failures would fill the journal.
StartLimitIntervalSec=10min
StartLimitBurst=10

[Service]
# With Type=simple, the start would succeed even if the program no longer exists.
Type=exec
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
# Only the server gets the signal first, and ends its own worker. Remaining processes are then killed.
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=10
UMask=0077

# Privileges that a user unit can drop.
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# Name resolution needs netlink.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# Omitted on purpose:
# - ProtectSystem, ProtectHome, PrivateTmp, PrivateDevices, ProtectKernelTunables, ProtectControlGroups, ProtectProc and
#   similar settings need a mount namespace. Where users cannot create one, they have no effect or fail the start.
# - CapabilityBoundingSet, ProtectKernelModules, ProtectKernelLogs and ProtectClock drop capabilities that a user's
#   systemd does not hold, so the start fails with 218/CAPABILITIES.
# - MemoryDenyWriteExecute and SystemCallFilter: a new version of the model's libraries may use other memory mappings or
#   system calls, and the first forbidden one would end the server.

[Install]
WantedBy=default.target
"""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@/.,:=+$%-]+")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPED: Final = re.compile(r"\\(?:x([0-9a-f]{2})|(.))")
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
# systemd refuses a program path that contains one of these characters, and never expands variables in it.
_NO_PROGRAM: Final = re.compile(r"""["'\\$]""")
_ENV: Final = "/usr/bin/env"


@dataclass(frozen=True, slots=True)
class Systemd:
    """The systemd instance of the user.

    Attributes:
        folder: The folder of its units.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The unit file."""
        return self.folder / UNIT

    @property
    def folders(self) -> tuple[Path, ...]:
        """No folders, because the journal needs none."""
        return ()

    @property
    def links(self) -> tuple[Path, ...]:
        """The link that enables the unit."""
        return (self.folder / "default.target.wants" / UNIT,)

    @property
    def defaults(self) -> Mapping[str, str]:
        """No defaults, because the journal collects the server's output."""
        return MappingProxyType({})

    @property
    def home_variable(self) -> str:
        """The variable of the home folder."""
        return "HOME"

    @property
    def retry_exit_code(self) -> int | None:
        """No exit code, because systemctl itself waits."""
        return None

    @property
    def logs(self) -> str:
        """Command that shows the journal of the unit."""
        return f"journalctl --user --unit {UNIT}"

    def render(self, launch: Launch) -> str:
        """Return the text of the unit."""
        program = launch.arguments[0]
        words = [_ENV, *launch.arguments] if _NO_PROGRAM.search(program) else [*launch.arguments]
        return _TEMPLATE.format(
            mark=MARK,
            unit=UNIT,
            command=" ".join(quote(word, variables=True) for word in words),
            environment="".join(
                f"Environment={quote(f'{name}={value}', variables=False)}\n"
                for name, value in launch.environment.items()
            ),
        )

    def parse(self, text: str) -> Launch:
        """Parse a unit that ``render`` wrote."""
        arguments = tuple(_parse_words(text, "ExecStart", variables=True))
        environment = dict(
            word.split("=", 1) for word in _parse_words(text, "Environment", variables=False) if "=" in word
        )
        return Launch(
            arguments=arguments[1:] if arguments[:1] == (_ENV,) else arguments,
            environment=MappingProxyType(environment),
        )

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:  # noqa: ARG002  as launchd's
        """Return the commands that start the unit; only a restart makes a running server use a changed unit."""
        reload = _systemctl("daemon-reload")
        if changed:
            return (reload, _systemctl("enable", UNIT), _systemctl("restart", UNIT))
        return (reload, _systemctl("enable", "--now", UNIT))

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:  # noqa: ARG002  as launchd's
        """Return the command that stops and disables the unit."""
        return (_systemctl("disable", "--now", UNIT),)

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return the command that makes systemd forget the removed unit."""
        return (_systemctl("daemon-reload"),)

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the commands that stop a server whose unit was removed."""
        return (_systemctl("stop", UNIT), _systemctl("daemon-reload"))

    def state(self, run: Runner) -> ServiceState:
        """Query the state from systemd."""
        names = ("LoadState", "UnitFileState", "ActiveState", "SubState", "Result", "MainPID")
        ran = run(_systemctl("show", UNIT, f"--property={','.join(names)}"))
        if ran.code != 0:
            return ServiceState(loaded=None, enabled=None, active=None, pid=None, text=ran.output)
        properties = dict(line.split("=", 1) for line in ran.output.splitlines() if "=" in line)
        text = f"{properties.get('ActiveState', 'unknown')} ({properties.get('SubState', '')})"
        if (result := properties.get("Result", "success")) != "success":
            text += f", {result}"
        return ServiceState(
            loaded=properties.get("LoadState") == "loaded",
            enabled=properties.get("UnitFileState") == "enabled",
            active=properties.get("ActiveState") in ("active", "reloading"),
            pid=int(properties.get("MainPID", "0")) or None,
            text=text,
        )


def quote(word: str, *, variables: bool) -> str:
    r"""Escape a word so that systemd reads exactly this text.

    The rules are those of systemd.syntax(7), systemd.unit(5) for specifiers, and systemd.service(5) for variables.

    Args:
        word: The text.
        variables: Whether the word is part of a command line, where systemd expands variables.

    >>> print(quote("/home/jo/100% of $HOME", variables=True))
    "/home/jo/100%% of $$HOME"
    """
    text = word.replace("%", "%%")
    if variables:
        text = text.replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return text
    return '"' + _UNSAFE.sub(lambda match: _escape(match[0]), text) + '"'


def _escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\x{ord(character):02x}"


def _parse_words(text: str, setting: str, *, variables: bool) -> Iterator[str]:
    """Yield the words of a setting, and undo ``quote``."""
    for line in re.findall(rf"^{setting}=(.*)$", text, re.MULTILINE):
        for quoted, plain in _WORD.findall(line):
            word = plain or _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], quoted)
            word = word.replace("%%", "%")
            yield word.replace("$$", "$") if variables else word


def _systemctl(*arguments: str) -> Command:
    return ("systemctl", "--user", *arguments)
