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
from opencode_memory.service.shell import follow

LABEL: Final = "dev.opencode-memory.serve"
_NO_SUCH_SERVICE: Final = 113
_INPUT_OUTPUT_ERROR: Final = 5


@dataclass(frozen=True, slots=True)
class Launchd:
    """The launchd instance of the user.

    Attributes:
        home: Home folder of the user.
        uid: Id of the user.
    """

    home: Path
    uid: int

    @property
    def path(self) -> Path:
        """The property list."""
        return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The log folder, which launchd does not create."""
        return (self._log_folder,)

    @property
    def links(self) -> tuple[Path, ...]:
        """No links."""
        return ()

    @property
    def defaults(self) -> Mapping[str, str]:
        """A log file, because launchd keeps no output. The server rotates this file itself."""
        return MappingProxyType({"server.log_file": str(self._log_folder / "serve.log")})

    @property
    def home_variable(self) -> str:
        """The variable of the home folder."""
        return "HOME"

    @property
    def retry_exit_code(self) -> int | None:
        """Exit code of ``bootstrap`` while the previous agent has not ended yet."""
        return _INPUT_OUTPUT_ERROR

    @property
    def logs(self) -> str:
        """Command that shows the server's output before it opens its log."""
        return follow(self._log_folder / "start.log", platform="darwin")

    @property
    def _log_folder(self) -> Path:
        return self.home / "Library" / "Logs" / "opencode-memory"

    def render(self, launch: Launch) -> str:
        """Return the text of the property list."""
        # Keep the default ProcessType, because launchd would throttle a background process.
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
        # The mark is a comment, because launchd may warn about an unknown key.
        return text.replace("<plist ", f"<!-- {MARK} -->\n<plist ", 1)

    def parse(self, text: str) -> Launch:
        """Parse a property list that ``render`` wrote."""
        content = plistlib.loads(text.encode())
        return Launch(
            arguments=tuple(content.get("ProgramArguments", ())),
            environment=MappingProxyType(dict(content.get("EnvironmentVariables", {}))),
        )

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that start the agent; a changed agent must be unloaded before it is loaded again."""
        enable: Command = ("launchctl", "enable", self._target)
        bootstrap: Command = ("launchctl", "bootstrap", self._domain, str(self.path))
        if loaded and changed:
            return (("launchctl", "bootout", self._target), enable, bootstrap)
        return (enable, ("launchctl", "kickstart", self._target)) if loaded else (enable, bootstrap)

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:
        """Return the command that stops the agent; launchctl fails on one that is not loaded."""
        return () if loaded is False else self.commands_to_stop_removed()

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return no commands, because launchd forgets a stopped agent."""
        return ()

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the command that stops the agent."""
        return (("launchctl", "bootout", self._target),)

    def state(self, run: Runner) -> ServiceState:
        """Query the state from launchd, which knows only loaded agents and starts them at login."""
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
