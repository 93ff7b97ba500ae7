"""Common interface of systemd, launchd and the Windows Task Scheduler.

A file describes the service, and commands load and start it. The caller passes the function that runs commands, so that
tests need none of these programs.
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
"""Identifies the files of this package. Installed files contain this text, so it must not change."""
_TIMEOUT_SECONDS: Final = 60
_NOT_FOUND: Final = 127
_TIMED_OUT: Final = 124


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit code of a command, and its standard output and error."""

    code: int
    output: str


Runner = Callable[[Command], CommandResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """State of the service, as the supervisor reports it.

    Attributes:
        loaded: Whether the supervisor knows the service; None if it is unreachable, as for the next two.
        enabled: Whether it starts the service at login.
        active: Whether the service runs.
        pid: Process id of the service, if it runs.
        text: The state in the supervisor's own words, or the reason why it is unreachable.
    """

    loaded: bool | None
    enabled: bool | None
    active: bool | None
    pid: int | None
    text: str


class Supervisor(Protocol):
    """Program that keeps services running: systemd, launchd or the Task Scheduler."""

    @property
    def path(self) -> Path:
        """The file that describes the service."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that must exist before the service starts."""

    @property
    def links(self) -> tuple[Path, ...]:
        """Links to the file that the supervisor creates, and cannot remove if it is unreachable."""

    @property
    def defaults(self) -> Mapping[str, str]:
        """Defaults of configuration keys that apply to the service alone."""

    @property
    def home_variable(self) -> str:
        """The variable that tells a service its home folder."""

    @property
    def retry_exit_code(self) -> int | None:
        """Exit code of a command that must be retried; None if there is none."""

    @property
    def logs(self) -> str:
        """Command that shows the output of a service without a log file."""

    def render(self, launch: Launch) -> str:
        """Return the text of the file."""

    def parse(self, text: str) -> Launch:
        """Parse a file that ``render`` wrote."""

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that start the service, now and at every login, after its file is written.

        Args:
            changed: Whether the file differs from the one that the supervisor may have loaded.
            loaded: Whether the supervisor has loaded the service.
        """

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that stop the service while its file exists."""

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return the commands that make the supervisor forget a removed file."""

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the commands that stop the service after its file was removed."""

    def state(self, run: Runner) -> ServiceState:
        """Query the state of the service."""


def make_runner(environment: Mapping[str, str]) -> Runner:
    """Return a function that runs commands in an environment. It never raises; failures become exit codes."""

    def run(command: Command) -> CommandResult:
        try:
            done = subprocess.run(  # noqa: S603  the commands are those of the supervisors
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
