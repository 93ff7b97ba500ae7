"""The service as a task of the Windows Task Scheduler: the commands of ``schtasks``, and the state.

The output of ``schtasks`` is in the language of the user, so only its exit codes are used, and whether the definition
of the task says that it is disabled. ``keeper`` runs the server, and its lock shows whether it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from types import MappingProxyType
from typing import Final

from opencode_memory.service import task_file
from opencode_memory.service.keeper_lock import find_kept
from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import Command, Runner, ServiceState
from opencode_memory.service.shell import follow

_NAME: Final = "opencode-memory-serve"
_FAILED: Final = 1
_DISABLED: Final = "<Enabled>false</Enabled>"


@dataclass(frozen=True, slots=True)
class TaskScheduler:
    r"""The Task Scheduler, with the task of one user.

    Attributes:
        folder: The folder of the service's files.
        user: The account of the user, as ``DOMAIN\NAME``.
    """

    folder: Path
    user: str

    @property
    def path(self) -> Path:
        """The file of the task."""
        return self.folder / "task.xml"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of the logs."""
        return (self.folder,)

    @property
    def links(self) -> tuple[Path, ...]:
        """No links."""
        return ()

    @property
    def defaults(self) -> Mapping[str, str]:
        """A log file, because the Task Scheduler keeps no output. The server rotates this file itself."""
        return MappingProxyType({"server.log_file": str(self.folder / "serve.log")})

    @property
    def home_variable(self) -> str:
        """The variable of the home folder. Some shells set HOME as well, which a task does not see."""
        return "USERPROFILE"

    @property
    def retry_exit_code(self) -> int | None:
        """No exit code, because the keeper itself waits for an earlier one."""
        return None

    @property
    def logs(self) -> str:
        """Command that shows the server's output before it opens its log."""
        return follow(self.folder / task_file.LOG_FILE, platform="win32")

    def render(self, launch: Launch) -> str:
        """Return the text of the file."""
        arguments = ("-P", "-m", "opencode_memory.service.keeper", str(self.path))
        program = _find_windowless(launch.arguments[0])
        return task_file.render(launch, user=self.user, program=program, arguments=arguments)

    def parse(self, text: str) -> Launch:
        """Parse a file that ``render`` wrote."""
        return task_file.parse(text)

    def commands_to_start(self, *, changed: bool, loaded: bool | None) -> tuple[Command, ...]:  # noqa: ARG002  as launchd's
        """Return the commands that register and run the task; running it again restarts the server."""
        register: Command = ("schtasks", "/Create", "/TN", self._name, "/XML", str(self.path), "/F")
        if not changed and find_kept(self.folder) is not None:
            return (register,)
        return (register, ("schtasks", "/Run", "/TN", self._name))

    def commands_to_stop(self, *, loaded: bool | None) -> tuple[Command, ...]:
        """Return the commands that end and delete the task; schtasks may fail on one that does not run."""
        if loaded is False:
            return ()
        end, delete = self.commands_to_stop_removed()
        return (delete,) if find_kept(self.folder) is None else (end, delete)

    def commands_to_forget(self) -> tuple[Command, ...]:
        """Return no commands, because the Task Scheduler has a copy of the file, which is deleted already."""
        return ()

    def commands_to_stop_removed(self) -> tuple[Command, ...]:
        """Return the commands that end and delete the task."""
        return (("schtasks", "/End", "/TN", self._name), ("schtasks", "/Delete", "/TN", self._name, "/F"))

    def state(self, run: Runner) -> ServiceState:
        """Query whether the task exists and is enabled; the lock of the keeper says whether the server runs."""
        ran = run(("schtasks", "/Query", "/TN", self._name, "/XML"))
        if ran.code not in (0, _FAILED):
            return ServiceState(loaded=None, enabled=None, active=None, pid=None, text=ran.output)
        kept = find_kept(self.folder)
        if kept is not None:
            text = "running" if kept.pid is not None else "starting"
        else:
            text = "not running" if ran.code == 0 else "not registered"
        return ServiceState(
            loaded=ran.code == 0,
            enabled=ran.code == 0 and _DISABLED not in ran.output,
            active=kept is not None,
            pid=kept.pid if kept is not None else None,
            text=text,
        )

    @property
    def _name(self) -> str:
        # All users of a machine share the names of tasks. Every character of an account may be in such a name.
        return f"{_NAME}-{PureWindowsPath(self.user).name}"


def _find_windowless(python: str) -> str:
    """Return the interpreter without a console window beside an interpreter, if it is installed."""
    windowless = Path(python).with_name("pythonw.exe")
    return str(windowless) if windowless.is_file() else python
