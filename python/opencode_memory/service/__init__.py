"""The server as a background service of the current user: a systemd unit, a launchd agent, or a task of Windows.

``launch`` builds the command line, ``systemd``, ``launchd`` and ``task_scheduler`` render the service file, and
``install`` installs and removes it. Only files that this package wrote are changed, and the names of the predecessor's
services are never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.config.paths import APPLICATION, default_config_file
from opencode_memory.errors import OpencodeMemoryError

if TYPE_CHECKING:
    from opencode_memory.service.manager import Supervisor

__all__ = ["find_supervisor"]


def find_supervisor(platform: str, environment: Mapping[str, str], *, uid: int | None) -> Supervisor:
    """Return the supervisor of services on a platform.

    Args:
        platform: The value of ``sys.platform``.
        environment: Environment variables, which define the user's folders.
        uid: Id of the user; None on Windows.

    Raises:
        OpencodeMemoryError: If the platform has no supported supervisor.
    """
    # Servers and most commands import this package for its other modules, and need no supervisor.
    if platform == "darwin" and uid is not None:
        from opencode_memory.service.launchd import Launchd  # noqa: PLC0415  as explained

        return Launchd(home=Path(environment.get("HOME", "/")), uid=uid)
    if platform == "linux":
        from opencode_memory.service.systemd import Systemd  # noqa: PLC0415  as explained

        return Systemd(folder=default_config_file(environment).parent.parent / "systemd" / "user")
    if platform == "win32":
        from opencode_memory.service.task_scheduler import TaskScheduler  # noqa: PLC0415  as explained

        home = environment.get("USERPROFILE", "")
        data = Path(environment.get("LOCALAPPDATA") or Path(home) / "AppData" / "Local")
        user = "\\".join(environment.get(name, "") for name in ("USERDOMAIN", "USERNAME")).lstrip("\\")
        return TaskScheduler(folder=data / APPLICATION / "service", user=user)
    error = OpencodeMemoryError(f"services need systemd, launchd or the Task Scheduler; {platform} has none of them")
    error.hint = "start `opencode-memory serve` with the service manager of your system"
    raise error
