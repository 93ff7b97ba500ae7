"""Command lines as a user types them into the shell of the system."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_WINDOWS = "win32"


def join(command: Sequence[str], *, platform: str = sys.platform) -> str:
    """Return a command line that the shell reads as these words.

    >>> join(["schtasks", "/End", "/TN", "serve jo"], platform="win32")
    'schtasks /End /TN "serve jo"'
    """
    return subprocess.list2cmdline(command) if platform == _WINDOWS else shlex.join(command)


def follow(file: Path, *, platform: str = sys.platform) -> str:
    """Return a command line that shows the end of a file, and what is added to it."""
    if platform == _WINDOWS:
        quoted = str(file).replace("'", "''")
        return f"powershell -Command \"Get-Content -Wait -Tail 20 -LiteralPath '{quoted}'\""
    return f"tail -f {shlex.quote(str(file))}"
