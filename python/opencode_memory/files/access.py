"""Checks of the access that this process has to files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

_FEW_BYTES: Final = 128 * 1024


def is_writable(path: Path) -> bool:
    """Return whether this process may write a file or folder. On a read-only file system not even root may."""
    return os.access(path, os.W_OK)


def is_full(folder: Path) -> bool:
    """Return whether the file system of a folder has no space for a few pages, or cannot tell."""
    try:
        return shutil.disk_usage(folder).free < _FEW_BYTES
    except OSError:
        return False
