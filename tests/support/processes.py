"""Other Python processes on the same data directory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a child process that can import the test support."""
    path = os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "error"} | changes


def command(code: str, *arguments: object) -> list[str]:
    """Return the command line of a program given as text, with its arguments in ``sys.argv[1:]``."""
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


def run(code: str, *arguments: object, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [*prefix, *command(code, *arguments)], env=environment(), capture_output=True, text=True, check=False
    )


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a program whose input and output are pipes."""
    return subprocess.Popen(
        command(code, *arguments), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
