"""Snapshots of a folder for comparison: names, permissions, contents and links."""

from __future__ import annotations

import stat
from pathlib import Path

Tree = dict[str, tuple[int, bytes | str | None]]


def tree(folder: Path) -> Tree:
    """Return all entries of a folder: relative path to permissions and content, the folder itself as ``.``."""
    found: Tree = {}
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode
        content: bytes | str | None = None
        if stat.S_ISLNK(mode):
            content = str(path.readlink())
        elif stat.S_ISREG(mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (stat.S_IMODE(mode), content)
    return found
