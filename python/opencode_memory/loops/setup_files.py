"""Remembers the files that the setup command of a loop has written, so that they stay out of the loop's commits.

What it wrote is kept as a commit that only the worktree names: its parent is the commit before, and its files are those
after. A file that is changed later is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opencode_memory.loops.git import Git, identity
from opencode_memory.loops.staging import LINK_MODE, list_names, nested_repositories, scratch_index, stage_all

_REF: Final = "refs/worktree/opencode-memory/setup"
"""Each worktree has a reference of its own by this name, which ends with the worktree."""
_GONE: Final = "000000"
"""The mode of a file that is not there."""


@dataclass(frozen=True, slots=True)
class _FileChange:
    """The difference of one path between two trees, as its modes and contents."""

    path: str
    old_mode: str
    old: str
    new_mode: str
    new: str


def remember_setup(git: Git) -> None:
    """Remember all that is not committed now as the work of the setup command."""
    with scratch_index(git) as index:
        stage_all(git, index)
        commit = git.run("rev-parse", "HEAD")
        # A repository that the setup has cloned is no work of the loop, whatever its commit.
        links = (f"{LINK_MODE} {commit}\t{path}" for path in nested_repositories(git, index))
        _update(git, links, index)
        tree = git.run("write-tree", more=index)
    kept = git.run("commit-tree", tree, "-p", commit, "-m", "files of the setup", more=identity(git))
    git.run("update-ref", _REF, kept)


def leave_out_setup(git: Git, more: Mapping[str, str] | None = None) -> None:
    """Take from the index what is as the setup command has left it."""
    written = {change.path: change for change in _changes_of_setup(git)}
    if written:
        staged = _read_changes(git, "diff-index", "--cached", "HEAD", more=more)
        same = [change for change in staged if written.get(change.path) == change]
        _update(git, (f"{change.old_mode} {change.old}\t{change.path}" for change in same), more)


def add_setup(git: Git, more: Mapping[str, str]) -> None:
    """Put the files of the setup command into a scratch index, so that git counts them as known."""
    there = (change for change in _changes_of_setup(git) if change.new_mode != _GONE)
    _update(git, (f"{change.new_mode} {change.new}\t{change.path}" for change in there), more)


def repositories_of_setup(git: Git) -> set[str]:
    """Return the folders that the setup command has made repositories of their own."""
    return {change.path for change in _changes_of_setup(git) if change.new_mode == LINK_MODE}


def _changes_of_setup(git: Git) -> Iterator[_FileChange]:
    if git.succeeds("rev-parse", "--verify", "--quiet", _REF):
        yield from _read_changes(git, "diff-tree", "-r", f"{_REF}^", _REF)


def _read_changes(git: Git, command: str, *arguments: str, more: Mapping[str, str] | None = None) -> list[_FileChange]:
    options = ("--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    lines = list(list_names(git, command, *options, *arguments, more=more))
    changes = []
    for about, path in zip(lines[::2], lines[1::2], strict=True):
        old_mode, new_mode, old, new, _ = about.removeprefix(":").split(" ")
        changes.append(_FileChange(path, old_mode, old, new_mode, new))
    return changes


def _update(git: Git, entries: Iterable[str], more: Mapping[str, str] | None) -> None:
    """Write entries into the index; the mode 000000 removes one."""
    if given := "".join(f"{entry}\0" for entry in entries):
        git.run("update-index", "-z", "--index-info", more=more, given=given)
