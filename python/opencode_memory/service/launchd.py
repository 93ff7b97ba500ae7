"""The service as a launchd agent of macOS: its property list, and the commands of ``launchctl``."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import MARK, Command, Runner, ServiceState

LABEL: Final = "dev.opencode-memory.serve"
_NO_SUCH_SERVICE: Final = 113
_INPUT_OUTPUT_ERROR: Final = 5


@dataclass(frozen=True, slots=True)
class Launchd:
    """The person's launchd.

    Attributes:
        home: The person's home.
        uid: The person's number.
    """

    home: Path
    uid: int

    @property
    def path(self) -> Path:
        """The property list."""
        return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of the logs, which launchd does not create."""
        return (self._log_folder,)

    @property
    def links(self) -> tuple[Path, ...]:
        """None."""
        return ()

    @property
    def defaults(self) -> Mapping[str, str]:
        """A log file: nothing else keeps what the server says, and the server turns its own file over."""
        return MappingProxyType({"server.log_file": str(self._log_folder / "serve.log")})

    @property
    def retry_exit_code(self) -> int | None:
        """What ``bootstrap`` says while the agent that was booted out has not ended yet."""
        return _INPUT_OUTPUT_ERROR

    @property
    def logs(self) -> str:
        """What the server said before it had a log."""
        return f"tail -f {self._log_folder / 'start.log'}"

    @property
    def _log_folder(self) -> Path:
        return self.home / "Library" / "Logs" / "opencode-memory"

    def render(self, launch: Launch) -> str:
        """Return the text of the property list."""
        # ProcessType is left at its default: as a background process the server would be slowed down.
        content: dict[str, Any] = {
            "Label": LABEL,
            "ProgramArguments": list(launch.arguments),
            **({"EnvironmentVariables": dict(launch.environment)} if launch.environment else {}),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "ExitTimeOut": 10,
            "Umask": 0o077,
            "StandardErrorPath": str(self._log_folder / "start.log"),
        }
        text = plistlib.dumps(content, sort_keys=False).decode()
        # A comment, since launchd may say what it thinks of a key that it does not know.
        return text.replace("<plist ", f"<!-- {MARK} -->\n<plist ", 1)

    def parse(self, text: str) -> Launch:
        """Return what a property list that was written here starts."""
        content = plistlib.loads(text.encode())
        return Launch(
            arguments=tuple(content.get("ProgramArguments", ())),
            environment=MappingProxyType(dict(content.get("EnvironmentVariables", {}))),
        )

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that start the agent; one that is loaded has to go before it can be loaded anew."""
        enable: Command = ("launchctl", "enable", self._target)
        bootstrap: Command = ("launchctl", "bootstrap", self._domain, str(self.path))
        if loaded and changed:
            return (("launchctl", "bootout", self._target), enable, bootstrap)
        return (enable, ("launchctl", "kickstart", self._target)) if loaded else (enable, bootstrap)

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:
        """Return the command that stops the agent; launchctl fails on one that is not loaded."""
        return () if loaded is False else self.commands_to_stop_removed()

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return nothing: launchd forgets what is stopped."""
        return ()

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the command that stops the agent."""
        return (("launchctl", "bootout", self._target),)

    def state(self, run: Runner) -> ServiceState:
        """Ask launchd; it knows an agent only while that is loaded, and then starts it at login too."""
        ran = run(("launchctl", "print", self._target))
        if ran.code == _NO_SUCH_SERVICE:
            return ServiceState(loaded=False, enabled=False, active=False, pid=None, text="not loaded")
        if ran.code != 0:
            return ServiceState(loaded=None, enabled=None, active=None, pid=None, text=ran.output)
        state = re.search(r"^\s*state = (.+?)\s*$", ran.output, re.MULTILINE)
        pid = re.search(r"^\s*pid = (\d+)\s*$", ran.output, re.MULTILINE)
        text = state[1] if state else "unknown"
        return ServiceState(
            loaded=True, enabled=True, active=text == "running", pid=int(pid[1]) if pid else None, text=text
        )

    @property
    def _domain(self) -> str:
        return f"gui/{self.uid}"

    @property
    def _target(self) -> str:
        return f"{self._domain}/{LABEL}"
