"""Determines the project of a folder.

A repository is recognised by its remotes, else by its root commits, else by its folder; worktrees of one repository
share all three. The files of git are read directly, because starting git would take longer than the rest of a recall,
and because a cloned repository must not be able to run a program.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from opencode_memory.models import ProjectIdentity
from opencode_memory.platform.system import AS_BYTES, NOT_INHERITED, WITHOUT_WAITING
from opencode_memory.projects.git_remotes import read_remotes

_CONFIG_LIMIT: Final = 1 << 20
_POINTER_LIMIT: Final = 1 << 14
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Repository:
    """The parts of a git repository.

    Attributes:
        work_tree: The folder with the files; for a bare repository, the repository itself.
        git_dir: The state of this work tree (``HEAD``).
        common_dir: The state that all work trees share (``config``, objects).
    """

    work_tree: Path
    git_dir: Path
    common_dir: Path

    @property
    def main_work_tree(self) -> Path:
        """The main work tree, the same from each work tree of the repository."""
        if self.common_dir == self.git_dir:
            return self.work_tree
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir


def find_repository(folder: Path) -> Repository | None:
    """Find the repository that contains a folder, as git would; None outside git."""
    start = real(folder)
    for place in (start, *start.parents):
        dot_git = place / ".git"
        if _is_git_dir(dot_git):
            return Repository(place, dot_git, dot_git)
        if os.path.isfile(dot_git):  # noqa: PTH113  Path.is_file raises if the folder may not be read
            return _follow_pointer(place, dot_git)
        if _is_git_dir(place):
            return Repository(place, place, place)
    return None


def identify(folder: Path) -> ProjectIdentity:
    """Return the identity of a folder's project, without its root commits.

    Args:
        folder: Any folder, inside a repository or not; it need not exist.
    """
    repository = find_repository(folder)
    if repository is None:
        return ProjectIdentity(folder=str(real(folder)))
    config = _read(repository.common_dir / "config", _CONFIG_LIMIT) or ""
    return ProjectIdentity(remotes=read_remotes(config), folder=str(repository.main_work_tree))


def with_root_commits(
    identity: ProjectIdentity, *, environment: Mapping[str, str], timeout_seconds: float = 2.0
) -> ProjectIdentity:
    """Add the root commits of the identity's folder. The caller should cache the result, because git walks the history.

    Args:
        identity: From ``identify``.
        environment: Environment of the calling process; git's own variables are removed from it.
        timeout_seconds: After this time the root commits count as unknown.

    Returns:
        The identity, unchanged if there is no repository, no commit, no git, or if git refuses the folder.
    """
    repository = find_repository(Path(identity.folder)) if identity.folder is not None else None
    # In a shallow clone the oldest commit that is present looks like a root.
    if repository is None or (repository.common_dir / "shallow").exists():
        return identity
    output = _run_git(repository, ("rev-list", "--max-parents=0", "HEAD"), environment, timeout_seconds)
    commits = tuple(sorted(line for line in output.split() if _COMMIT.fullmatch(line)))
    return replace(identity, root_commits=commits)


def real(path: Path) -> Path:
    """Return the absolute path without symbolic links; unlike ``Path.resolve`` it does not raise on a loop of them."""
    return Path(os.path.realpath(path))


def _follow_pointer(place: Path, dot_git: Path) -> Repository | None:
    """Follow a ``.git`` file: a linked work tree, a submodule, or a separate git folder."""
    text = _read(dot_git, _POINTER_LIMIT)
    if text is None or not text.startswith("gitdir:"):
        return None
    git_dir = real(place / text.removeprefix("gitdir:").strip())
    pointer = _read(git_dir / "commondir", _POINTER_LIMIT)
    common_dir = git_dir if pointer is None else real(git_dir / pointer.strip())
    return Repository(place, git_dir, common_dir) if _is_git_dir(common_dir) else None


def _is_git_dir(path: Path) -> bool:
    # Path.is_file and Path.is_dir raise if the folder may not be read. Such a folder counts as none of git.
    has_head = os.path.isfile(path / "HEAD")  # noqa: PTH113
    return has_head and all(os.path.isdir(path / name) for name in ("objects", "refs"))  # noqa: PTH112


def read_git_file(path: Path, limit: int) -> bytes | None:
    """Return the beginning of a file of git; None if it cannot be read.

    The files of a repository may come from an archive of a stranger. Opening a FIFO among them would block.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | NOT_INHERITED | AS_BYTES | WITHOUT_WAITING)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _read(path: Path, limit: int) -> str | None:
    # Treat an unreadable file as missing; the folder is then recognised by the other parts.
    data = read_git_file(path, limit)
    return None if data is None or b"\0" in data else data.decode("utf-8", errors="replace")


def _run_git(
    repository: Repository, arguments: tuple[str, ...], environment: Mapping[str, str], timeout_seconds: float
) -> str:
    quiet = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        # Otherwise a partial clone would fetch missing objects over the transport that its own configuration names.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }
    inherited = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    command = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
    try:
        done = subprocess.run(  # noqa: S603  a fixed program with fixed arguments
            (*command, f"--git-dir={repository.git_dir}", *arguments),
            env=inherited | quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("ascii", errors="replace") if done.returncode == 0 else ""
