"""Runs commands without the right of root to read and write every file, because tests may run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

import pytest

_RIGHTS = "-dac_override,-dac_read_search"
_SETPRIV = ("setpriv", "--bounding-set", _RIGHTS, "--inh-caps", _RIGHTS)


def obey_permissions(command: Sequence[str]) -> list[str]:
    """Return a command line to which the permissions of files apply; skip the test if there is none."""
    if os.geteuid() != 0:
        return [*command]
    if shutil.which("setpriv") is None or subprocess.run([*_SETPRIV, "true"], check=False).returncode:
        pytest.skip("root may read and write every file here")
    return [*_SETPRIV, *command]
