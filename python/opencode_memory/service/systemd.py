"""The service as a systemd user unit: its text, and the commands of ``systemctl --user``.

Everything that is carried into the unit goes through ``quote``: systemd would take a percent sign for a specifier, a
dollar sign for a variable, and a blank for the end of a word.
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
# `opencode-memory service uninstall` removes it. Settings of yours: systemctl --user edit {unit}

[Unit]
Description=opencode-memory, the memory of coding agents
# A server that cannot start (the port is taken, say) gives up after some tries instead of filling the journal for ever.
StartLimitIntervalSec=10min
StartLimitBurst=10

[Service]
# Not simple: a program that is no longer there shall fail the start and not vanish quietly.
Type=exec
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
# The server is told first and ends its own worker; what is left after that is killed.
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=10
UMask=0077

# What a unit of a user may give up by itself.
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# Netlink is how names are resolved.
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
# Left out on purpose:
# - ProtectSystem, ProtectHome, PrivateTmp, PrivateDevices, ProtectKernelTunables, ProtectControlGroups, ProtectProc and
#   their like need a mount namespace, which a user may not have: without one they do nothing or fail the start.
# - CapabilityBoundingSet, ProtectKernelModules, ProtectKernelLogs, ProtectClock drop capabilities that a user's systemd
#   does not hold: the start fails with 218/CAPABILITIES.
# - MemoryDenyWriteExecute and SystemCallFilter: which memory and calls the libraries of the model use is theirs to
#   change, and the first one that is not allowed ends the server.

[Install]
WantedBy=default.target
"""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@/.,:=+$%-]+")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPED: Final = re.compile(r"\\(?:x([0-9a-f]{2})|(.))")
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
# systemd refuses a program in whose path one of these is, and a variable in it is never replaced as in an argument.
_NO_PROGRAM: Final = re.compile(r"""["'\\$]""")
_ENV: Final = "/usr/bin/env"


@dataclass(frozen=True, slots=True)
class Systemd:
    """The person's own systemd.

    Attributes:
        folder: Where its units are.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The unit."""
        return self.folder / UNIT

    @property
    def folders(self) -> tuple[Path, ...]:
        """None besides the unit's own: the journal needs no folder."""
        return ()

    @property
    def links(self) -> tuple[Path, ...]:
        """The link that says that the unit is enabled."""
        return (self.folder / "default.target.wants" / UNIT,)

    @property
    def defaults(self) -> Mapping[str, str]:
        """None: the journal takes what the server says."""
        return MappingProxyType({})

    @property
    def retry_exit_code(self) -> int | None:
        """None: systemctl waits by itself."""
        return None

    @property
    def logs(self) -> str:
        """Where the journal has it."""
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
        """Return what a unit that was written here starts."""
        arguments = tuple(_parse_words(text, "ExecStart", variables=True))
        environment = dict(
            word.split("=", 1) for word in _parse_words(text, "Environment", variables=False) if "=" in word
        )
        return Launch(
            arguments=arguments[1:] if arguments[:1] == (_ENV,) else arguments,
            environment=MappingProxyType(environment),
        )

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:  # noqa: ARG002  as launchd's
        """Return the commands that start the unit; only a restart makes a server of the old unit one of the new."""
        reload = _systemctl("daemon-reload")
        if changed:
            return (reload, _systemctl("enable", UNIT), _systemctl("restart", UNIT))
        return (reload, _systemctl("enable", "--now", UNIT))

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:  # noqa: ARG002  as launchd's
        """Return the command that stops and disables the unit."""
        return (_systemctl("disable", "--now", UNIT),)

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return the command that lets systemd see that the unit is gone."""
        return (_systemctl("daemon-reload"),)

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the commands that end a server whose unit is gone."""
        return (_systemctl("stop", UNIT), _systemctl("daemon-reload"))

    def state(self, run: Runner) -> ServiceState:
        """Ask systemd."""
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
    r"""Write a word so that systemd reads it as it is, whatever is in it.

    The rules are those of systemd.syntax(7), systemd.unit(5) for specifiers, and systemd.service(5) for variables.

    Args:
        word: What is meant.
        variables: Whether it stands in a command line, where variables are replaced.

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
    """Yield the words of a setting, as ``quote`` wrote them."""
    for line in re.findall(rf"^{setting}=(.*)$", text, re.MULTILINE):
        for quoted, plain in _WORD.findall(line):
            word = plain or _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], quoted)
            word = word.replace("%%", "%")
            yield word.replace("$$", "$") if variables else word


def _systemctl(*arguments: str) -> Command:
    return ("systemctl", "--user", *arguments)
