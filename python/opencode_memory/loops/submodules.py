"""Repositories inside of a worktree: which work in them would be lost, because a loop commits only its own repository.

Each submodule has a folder of git outside of the worktree, which is named in each call. The ``.git`` file in the
submodule is not read, because a command in the worktree can change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.loops.git import Git
from opencode_memory.loops.setup_files import add_setup, leave_out_setup, remember_setup, repositories_of_setup
from opencode_memory.loops.staging import (
    LINK_MODE,
    is_folder,
    is_inside,
    links_of_index,
    list_names,
    nested_repositories,
    scratch_index,
    stage_all,
)
from opencode_memory.text.formatting import format_count

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    """A submodule that is checked out.

    Attributes:
        path: Its path from the top of the worktree.
        git: Git for it.
        start: The commit that the repository named when the loop started; None if it is new.
    """

    path: str
    git: Git
    start: str | None


def stage(git: Git, more: Mapping[str, str] | None = None) -> None:
    """Stage the work of a loop: all files but those of the setup command, and the commits of submodules."""
    stage_all(git, more)
    for submodule in _direct_submodules(git, None):
        commit = submodule.git.run("rev-parse", "HEAD")
        git.run("update-index", "--cacheinfo", f"{LINK_MODE},{commit},{submodule.path}", more=more)
    leave_out_setup(git, more)


def uncommitted_files(git: Git) -> list[str]:
    """Return the paths of the files that a commit would change."""
    with scratch_index(git) as index:
        stage(git, index)
        options = ("--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z")
        return list(list_names(git, "diff-index", *options, "HEAD", more=index))


def remember_setup_everywhere(git: Git) -> None:
    """Remember what the setup command has written, also in submodules."""
    remember_setup(git)
    for submodule in _find_submodules(git, None):
        remember_setup(submodule.git)


def remove_untracked(git: Git) -> None:
    """Remove new files that git does not ignore, also in submodules; those of the setup command stay."""
    for each in (git, *(submodule.git for submodule in _find_submodules(git, None))):
        with scratch_index(each) as index:
            add_setup(each, index)
            # Twice forced, so that new repositories are removed, too.
            each.run("clean", "-d", "--force", "--force", "--quiet", more=index)


def describe_lost(git: Git, base: str) -> Iterator[str]:
    """Yield what would be lost with the worktree: changes in submodules, and in other repositories inside of it.

    Args:
        git: Git for the worktree.
        base: The commit from which the loop started.
    """
    submodules = list(_find_submodules(git, base))
    known = {submodule.path for submodule in submodules}
    new = set(nested_repositories(git)) - repositories_of_setup(git)
    without_git = {path for path in links_of_index(git) if path not in known and _has_files(git, path)}
    for path in sorted(new | without_git):
        yield f"{path} (a repository of its own)"
    for submodule in submodules:
        yield from _describe_lost_in(submodule)


def _describe_lost_in(submodule: Submodule) -> Iterator[str]:
    git, path = submodule.git, submodule.path
    risky = [key for key in git.risky_settings() if key != "core.worktree"]
    if risky:
        yield f"{path} (git cannot be asked, because its setting {risky[0]} may run a program)"
        return
    changed = uncommitted_files(git)
    changed += sorted(set(nested_repositories(git)) - repositories_of_setup(git))
    for name in changed[:_MOST_NAMED]:
        yield f"{path}/{name}"
    if len(changed) > _MOST_NAMED:
        yield f"{format_count(len(changed) - _MOST_NAMED, 'more file')} of {path}"
    start = () if submodule.start is None else (submodule.start,)
    number = int(git.run("rev-list", "--count", "HEAD", "--branches", "--not", "--remotes", *start))
    if number:
        yield f"{path} ({format_count(number, 'commit')} that no remote branch has)"


def _find_submodules(git: Git, base: str | None, above: str = "") -> Iterator[Submodule]:
    """Yield the submodules that are checked out, and theirs."""
    for found in _direct_submodules(git, base):
        path = f"{above}{found.path}"
        yield Submodule(path=path, git=found.git, start=found.start)
        yield from _find_submodules(found.git, found.start, f"{path}/")


def _direct_submodules(git: Git, base: str | None) -> Iterator[Submodule]:
    links = links_of_index(git)
    if not links or git.git_dir is None:
        return
    names = _names(git)
    for path in links:
        name = names.get(path)
        folder = git.work_tree / path
        if name is None or not _stays_below(PurePosixPath(name)):
            continue
        if not is_folder(folder) or not is_inside(git.work_tree, path):
            continue  # Git would remove files of the folder to which a link leads.
        git_dir = git.git_dir / "modules" / name
        if not (git_dir / "HEAD").is_file():
            continue
        start = None if base is None else _link_of_commit(git, base, path)
        yield Submodule(path=path, git=Git(work_tree=folder, git_dir=git_dir), start=start)


def _link_of_commit(git: Git, commit: str, path: str) -> str | None:
    for entry in list_names(git, "ls-tree", "-z", commit, "--", f":(top,literal){path}"):
        mode, _, named = entry.partition("\t")[0].split(" ")
        if mode == LINK_MODE:
            return named
    return None


def _names(git: Git) -> dict[str, str]:
    """Return the name of each submodule by its path."""
    asked = ("config", "--blob", ":.gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$")
    found = {}
    for entry in list_names(git, *asked) if git.succeeds(*asked) else ():
        key, _, path = entry.partition("\n")
        found[path] = key.removeprefix("submodule.").removesuffix(".path")
    return found


def _stays_below(name: PurePosixPath) -> bool:
    """Return whether the name of a submodule names a folder below the folder of git. A step may have written it."""
    return not name.is_absolute() and ".." not in name.parts


def _has_files(git: Git, path: str) -> bool:
    folder = git.work_tree / path
    return is_folder(folder) and any(folder.iterdir())
