"""Every module can be imported on Windows, where the modules and names of POSIX are missing."""

from __future__ import annotations

import subprocess
import sys

from test_layout import PACKAGE, PYTHON, modules

POSIX = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
POSIX_NAMES = ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "getuid", "geteuid", "killpg")
ONE_SIDE = {f"{PACKAGE}.platform.posix", f"{PACKAGE}.platform.windows_api"}
_PROGRAM = """
import asyncio, concurrent.futures, importlib, multiprocessing, os, shutil, signal, subprocess, sys, tempfile, uuid
import anyio, httpx2, mcp, starlette, uvicorn, watchfiles, websockets
for name in {names}:
    delattr(os, name)
for name in {posix}:
    sys.modules[name] = None
for name in sorted({modules}):
    importlib.import_module(name)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    # Python looks into the current folder first, and a clone holds the package without its compiled module.
    return subprocess.run(
        [sys.executable, "-c", program], cwd=PYTHON.parent, capture_output=True, text=True, check=False
    )


def test_every_module_can_be_imported_without_posix() -> None:
    wanted = sorted(set(modules()) - ONE_SIDE)
    done = run(_PROGRAM.format(names=POSIX_NAMES, posix=POSIX, modules=wanted))
    assert (done.returncode, done.stderr) == (0, "")


def test_side_of_posix_cannot_be_imported_without_posix() -> None:
    done = run(_PROGRAM.format(names=(), posix=POSIX, modules=[f"{PACKAGE}.platform.posix"]))
    assert "fcntl" in done.stderr
