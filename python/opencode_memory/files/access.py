"""Checks of the access that this process has to files."""

from __future__ import annotations

import os
from pathlib import Path


def is_writable(path: Path) -> bool:
    """Return whether this process may write a file or folder. On a read-only file system not even root may."""
    return os.access(path, os.W_OK)
