"""Runs third-party programs that are written for Node.js."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from e2e.served import environment

_PATIENCE_SECONDS = 120


def run(tools: Path, program: str, arguments: Sequence[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    Args:
        tools: Folder of the installation.
        program: The program's file below ``node_modules``.
        arguments: Its arguments.
        home: The home folder for the program.
    """
    home.mkdir(exist_ok=True)
    modules = tools / "node_modules"
    # Prefer the installed Node.js, if there is one for this machine: the tools need a recent version.
    node = shutil.which("node", path=str(modules / ".bin")) or shutil.which("node")
    assert node is not None, "there is no `node` on the PATH"
    return subprocess.run(
        [node, str(modules / program), *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
        check=False,
    )
