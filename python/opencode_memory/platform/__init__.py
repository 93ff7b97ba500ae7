"""The operating system: locks, privacy of files, replacement of files, processes and users.

The rest of the package calls ``system()`` and never asks on which system it runs. ``posix`` is the side of Linux and
macOS, ``windows`` that of Windows, which reaches the system through ``windows_api`` alone, so that tests can put
another API in its place.
"""

from __future__ import annotations

import sys
from functools import cache

from opencode_memory.platform.system import FolderLock, HeldFolder, System

__all__ = ["FolderLock", "HeldFolder", "System", "system"]


@cache
def system() -> System:
    """Return the operating system that this process runs on."""
    if sys.platform == "win32":
        from opencode_memory.platform.windows import Windows  # noqa: PLC0415  each side exists on its system only
        from opencode_memory.platform.windows_api import WindowsApi  # noqa: PLC0415

        return Windows(WindowsApi())
    from opencode_memory.platform.posix import Posix  # noqa: PLC0415  imports modules that Windows does not have

    return Posix()
