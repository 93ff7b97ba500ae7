"""The server as a background service of the current user: a systemd user unit or a launchd agent.

``launch`` builds the command line, ``systemd`` and ``launchd`` render the service file, and ``install`` installs and
removes it. Only files that this package wrote are changed, and the names of the predecessor's services are never used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opencode_memory.config.paths import default_config_file
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.service.launchd import Launchd
from opencode_memory.service.manager import Supervisor
from opencode_memory.service.systemd import Systemd

__all__ = ["supervisor_of"]


def find_supervisor(platform: str, environment: Mapping[str, str], *, uid: int | None) -> Supervisor:
    """Return the supervisor of services on a platform.

    Args:
        platform: The value of ``sys.platform``.
        environment: Environment variables, which define the user's folders.
        uid: Id of the user; None on Windows.

    Raises:
        OpencodeMemoryError: If the platform has no supported supervisor.
    """
    if platform == "darwin" and uid is not None:
        return Launchd(home=Path(environment.get("HOME", "/")), uid=uid)
    if platform == "linux":
        return Systemd(folder=default_config_file(environment).parent.parent / "systemd" / "user")
    error = OpencodeMemoryError(f"services need systemd or launchd, and {platform} has neither")
    error.hint = "start `opencode-memory serve` with the service manager of your system"
    raise error
