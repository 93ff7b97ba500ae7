"""What systemd and launchd have in common: a file that describes the service, and commands that make it count.

Commands are run by a function that is handed in, so that everything else can be tried where neither of them is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from opencode_memory.service.launch import Launch

Command = tuple[str, ...]

MARK: Final = "Written by `opencode-memory service install`; a change is lost at the next one."
_TIMEOUT_SECONDS: Final = 60
_NOT_FOUND: Final = 127
_TIMED_OUT: Final = 124


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of a command: its exit code, and all that it said."""

    code: int
    output: str


Runner = Callable[[Command], CommandResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """What the supervisor says of the service.

    Attributes:
        loaded: Whether it knows the service; None when it could not be asked, as with the other two.
        enabled: Whether it starts the service at login.
        active: Whether the service runs.
        pid: Its process.
        text: The state in the supervisor's own words, or why it could not be asked.
    """

    loaded: bool | None
    enabled: bool | None
    active: bool | None
    pid: int | None
    text: str


class Supervisor(Protocol):
    """What keeps services running."""

    @property
    def path(self) -> Path:
        """The file that describes the service."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that have to be there before it starts."""

    @property
    def links(self) -> tuple[Path, ...]:
        """Links to the file that the supervisor makes, and may not be there to remove."""

    @property
    def defaults(self) -> Mapping[str, str]:
        """Key to what the service needs where nobody configured that key."""

    @property
    def retry_exit_code(self) -> int | None:
        """The exit code of a command that has to be tried again in a moment; None when there is none."""

    @property
    def logs(self) -> str:
        """The command that shows what the service says, when it has no log file."""

    def render(self, launch: Launch) -> str:
        """Return the text of the file."""

    def parse(self, text: str) -> Launch:
        """Return what a file that was written here starts."""

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that start the service, now and at every login, from a file that is in place.

        Args:
            changed: Whether the file is another than the one that the supervisor may know.
            loaded: Whether it knows one.
        """

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that stop the service while its file is there."""

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return the commands for when its file is gone."""

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the commands that stop the service when its file is gone already."""

    def state(self, run: Runner) -> ServiceState:
        """Ask for the state of the service."""


def make_runner(environment: Mapping[str, str]) -> Runner:
    """Return what runs commands with an environment; it raises nothing, an exit code says it all."""

    def run(command: Command) -> CommandResult:
        try:
            done = subprocess.run(  # noqa: S603  the commands are those of systemd.py and launchd.py
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
                timeout=_TIMEOUT_SECONDS,
            )
        except FileNotFoundError:
            return CommandResult(_NOT_FOUND, f"{command[0]} is not installed")
        except OSError as error:
            return CommandResult(_NOT_FOUND, f"{command[0]} cannot be run: {error.strerror or error}")
        except subprocess.TimeoutExpired:
            return CommandResult(_TIMED_OUT, f"{command[0]} did not end within {_TIMEOUT_SECONDS} seconds")
        return CommandResult(done.returncode, done.stdout.strip())

    return run
