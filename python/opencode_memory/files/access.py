"""Checks of the access that this process has to files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

_FEW_BYTES: Final = 128 * 1024


def find_obstacle(folder: Path, *, may_be_missing: bool = False) -> str | None:
    """Return the reason why this process cannot enter a folder, or None if it can enter the folder.

    Args:
        folder: The folder.
        may_be_missing: Whether a path that does not exist is no obstacle.
    """
    try:
        # Only the dot at the end requires the permission to enter the folder.
        os.stat(os.path.join(folder, "."))  # noqa: PTH116, PTH118  a Path drops the dot
    except FileNotFoundError:
        return None if may_be_missing else f"{folder} is not a folder"
    except NotADirectoryError:
        is_missing = not os.path.lexists(folder)
        return f"{folder} is {'below a file' if is_missing else 'not a folder'}"
    except ValueError:  # For example a NUL.
        return f"{folder} is not a folder"
    except OSError as error:
        return f"{folder} cannot be entered: {error.strerror or error}"
    return None


def is_writable(path: Path) -> bool:
    """Return whether this process may write a file or folder. On a read-only file system not even root may."""
    return os.access(path, os.W_OK)


def is_full(folder: Path) -> bool:
    """Return whether the file system of a folder has no space for a few pages, or cannot tell."""
    try:
        return shutil.disk_usage(folder).free < _FEW_BYTES
    except OSError:
        return False
