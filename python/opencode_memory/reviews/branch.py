"""Reads the checked-out branch from git's files, because starting git would take longer than the rest of a call."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from opencode_memory.projects.identity import find_repository, read_git_file
from opencode_memory.text.unicode import replace_surrogates

DETACHED: Final = "detached"
"""What stands for the branch while HEAD names a commit."""
NO_BRANCH: Final = "none"
"""What stands for the branch outside of git, and where git keeps its branches in a form that is not read here."""
_HEAD_BYTES: Final = 4096
_BRANCH: Final = re.compile(r"ref: refs/heads/(?P<name>[^\x00-\x20\x7f]+)")
_TABLE_OF_BRANCHES: Final = ".invalid"
"""What git writes instead of a branch's name when its branches are in a table (reftable)."""


def branch_of(folder: Path) -> str:
    """Return the branch that is checked out in a folder's work tree, without starting git.

    Returns:
        Its name, ``detached`` if HEAD names a commit, ``none`` outside of git.
    """
    repository = find_repository(folder)
    if repository is None:
        return NO_BRANCH
    data = read_git_file(repository.git_dir / "HEAD", _HEAD_BYTES)
    if data is None:
        return NO_BRANCH
    head = os.fsdecode(data).strip()
    match = _BRANCH.fullmatch(head)
    if match is None:
        return NO_BRANCH if head.startswith("ref:") else DETACHED
    name = replace_surrogates(match["name"])
    return NO_BRANCH if name == _TABLE_OF_BRANCHES else name
