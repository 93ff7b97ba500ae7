"""The server as a background service of the person who installs it: a systemd user unit or a launchd agent.

``launch`` says what is started, ``systemd`` and ``launchd`` how their systems are told, ``steps`` puts it in place and
takes it away again. Only files that were written here are ever changed, and the predecessor's names are never used.
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


def find_supervisor(platform: str, environment: Mapping[str, str], *, uid: int) -> Supervisor:
    """Return what keeps services running on a platform.

    Args:
        platform: As ``sys.platform`` names it.
        environment: Where the folders of the person are.
        uid: The person.

    Raises:
        OpencodeMemoryError: There is nothing that is known here.
    """
    if platform == "darwin":
        return Launchd(home=Path(environment.get("HOME", "/")), uid=uid)
    if platform == "linux":
        return Systemd(folder=default_config_file(environment).parent.parent / "systemd" / "user")
    error = OpencodeMemoryError(f"services are known here for systemd and launchd, not for {platform}")
    error.hint = "have `opencode-memory serve` started by what your system offers"
    raise error
