"""Repositories created with git, because OpenCode runs git in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SHOP = "forge.example/team/shop"
"""The project of the repository that the fixture ``shop`` makes."""
_IDENTITY = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost", "-c", "commit.gpgsign=false")
_NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def repository(folder: Path, *, remote: str) -> Path:
    """Make a repository with a commit, without which OpenCode would not take it for a project."""
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "remote", "add", "origin", remote)
    _git(folder, *_IDENTITY, "commit", "--quiet", "--allow-empty", "--message", folder.name)
    return folder


def worktree(of: Path, folder: Path) -> Path:
    """Make a linked work tree of a repository."""
    _git(of, "worktree", "add", "--quiet", str(folder))
    return folder


def _git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *arguments], cwd=folder, env=environment | _NO_CONFIGURATION, check=True)
