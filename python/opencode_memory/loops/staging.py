"""Stages the files of a worktree for a commit, without running git inside of repositories that lie in it.

``git add`` asks ``git status`` about each submodule, which reads the configuration that the submodule's ``.git`` names.
A command in a sandbox can write such a configuration, with a filter that git would run outside of the sandbox. So
repositories inside of the worktree are left out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from opencode_memory.loops.git import Git

LINK_MODE: Final = "160000"
"""The mode of an entry of the index that names a commit of another repository."""


@contextmanager
def scratch_index(git: Git) -> Iterator[dict[str, str]]:
    """Yield the variable that makes git use a copy of the index."""
    index = Path(git.run("rev-parse", "--path-format=absolute", "--git-path", "index"))
    with tempfile.TemporaryDirectory(prefix="opencode-memory-") as folder:
        copy = Path(folder) / "index"
        if index.is_file():
            # With its time: git reads a file again that has changed as late as the index was written.
            shutil.copy2(index, copy)
        yield {"GIT_INDEX_FILE": str(copy)}


def stage_all(git: Git, more: Mapping[str, str] | None = None) -> None:
    """Stage all files, changed, new and deleted ones, but no repository that lies inside of the worktree.

    Args:
        git: Git for the worktree.
        more: More variables, for example of a scratch index.
    """
    _add(git, ["."], without=[*_link_folders(git, more), *nested_repositories(git, more)], more=more)


def stage_ignored(git: Git, names: Sequence[str], *, more: Mapping[str, str]) -> None:
    """Stage some files and folders, also what git ignores in them. Those that are not there are skipped.

    Args:
        git: Git for the worktree.
        names: Paths in the worktree.
        more: The variables of a scratch index.
    """
    links = _link_folders(git, more)
    known = list_names(git, "ls-files", "-z", "--", *names, more=more)
    paths = [
        name
        for name in names
        if name not in links
        and (os.path.lexists(git.work_tree / name) or any(f"{path}/".startswith(f"{name}/") for path in known))
    ]
    if paths:
        _add(git, paths, "--force", "--ignore-errors", without=links, more=more)


def _add(git: Git, paths: Iterable[str], *options: str, without: Iterable[str], more: Mapping[str, str] | None) -> None:
    given = "\0".join((*paths, *(f":(top,exclude,literal){path}" for path in without)))
    git.run("add", "--all", *options, "--pathspec-from-file=-", "--pathspec-file-nul", more=more, given=given)


def _link_folders(git: Git, more: Mapping[str, str] | None) -> list[str]:
    return [path for path in links_of_index(git, more) if is_folder(git.work_tree / path)]


def links_of_index(git: Git, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the submodules of the index, as their paths and commits."""
    found = {}
    for entry in list_names(git, "ls-files", "--stage", "-z", more=more):
        about, _, path = entry.partition("\t")
        mode, commit, _ = about.split(" ")
        if mode == LINK_MODE:
            found[path] = commit
    return found


def nested_repositories(git: Git, more: Mapping[str, str] | None = None) -> list[str]:
    """Return the folders that git does not know, and that are repositories of their own."""
    others = list_names(git, "ls-files", "--others", "--exclude-standard", "-z", more=more)
    return [path.removesuffix("/") for path in others if path.endswith("/")]


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def is_inside(work_tree: Path, path: str) -> bool:
    """Return whether no folder on the way to a path is a link, which a command in the worktree may have made."""
    return (work_tree / path).resolve() == work_tree.resolve() / path


def list_names(git: Git, *arguments: str, more: Mapping[str, str] | None = None) -> Iterable[str]:
    """Run a command of git that ends each line with a zero byte, and return the lines."""
    return [name for name in git.run(*arguments, more=more).split("\0") if name]
