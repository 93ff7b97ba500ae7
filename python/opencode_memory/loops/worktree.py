"""Worktrees of loops: a branch of its own in a folder of its own, made with git.

OpenCode's own worktrees are not used, because it deletes them with unmerged commits and uncommitted files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.loops.git import Git, GitError, explain, identity
from opencode_memory.loops.staging import links_of_index, list_names, scratch_index, stage_ignored
from opencode_memory.loops.stale_locks import remove_stale_locks
from opencode_memory.loops.submodules import (
    describe_lost,
    remember_setup_everywhere,
    remove_untracked,
    stage,
    uncommitted_files,
)
from opencode_memory.text.display import one_line
from opencode_memory.text.unicode import is_encodable, replace_surrogates

BRANCHES: Final = "loop/"
"""How the names of the loops' branches begin."""
_TAKEN_ALONG: Final = "Take uncommitted changes along"
_MOST_COPIED: Final = 2_000
_PART: Final = ".copying"
"""A file that is being copied, beside the worktree."""
_SUBMODULE_SECONDS: Final = 600.0
_DIFF_CHARACTERS: Final = 60_000
_MOST_NAMED: Final = 3
_NAME_CHARACTERS: Final = 100
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none")
"""Options with which a diff runs no program, also not inside of a submodule."""


class ChangedConfigError(OpencodeMemoryError):
    """The configuration of git was changed while the loop ran, so git may run a program of another author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The user's repository.

    Attributes:
        folder: Its main folder.
        common: The folder of git that all worktrees share.
        head: The commit that is checked out.
        modified: Number of changed files that are not committed.
        untracked: Number of files that git does not know and does not ignore.
    """

    folder: Path
    common: Path
    head: str
    modified: int
    untracked: int


def find_repository(directory: Path) -> Repository:
    """Return the repository of a folder.

    Raises:
        InvalidInputError: The folder is in no repository, in a bare one, in one without a commit, or its path is not
            UTF-8.
    """
    git = Git(work_tree=directory)
    try:
        folder = Path(git.run("rev-parse", "--show-toplevel"))
        common = Path(git.run("rev-parse", "--path-format=absolute", "--git-common-dir"))
    except GitError as error:
        message = f"directory: a loop needs a git repository with files, and {directory} is none ({error.cause})"
        raise InvalidInputError(message, field="directory") from error
    if not (is_encodable(str(folder)) and is_encodable(str(common))):
        name = replace_surrogates(str(folder))
        message = f"directory: the path of the repository {name} is not UTF-8, so no loop can be recorded for it"
        unnamed = InvalidInputError(message, field="directory")
        unnamed.hint = "rename the folder"
        raise unnamed
    try:
        head = git.run("rev-parse", "--verify", "HEAD^{commit}")
    except GitError as error:
        message = f"directory: the repository {folder} has no commit yet; make one first"
        raise InvalidInputError(message, field="directory") from error
    states = [line[:2] for line in git.run("status", "--porcelain", "--no-renames", "-z").split("\0") if line]
    untracked = sum(state == "??" for state in states)
    return Repository(folder=folder, common=common, head=head, modified=len(states) - untracked, untracked=untracked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A folder in which a loop works.

    Attributes:
        path: The folder.
        branch: Its branch; None for the user's own folder.
        base: The commit from which the loop started.
        common: The folder of git that all worktrees share.
        config_mark: The hash of git's settings at the start.
    """

    path: Path
    branch: str | None
    base: str
    common: Path
    config_mark: str

    @property
    def git(self) -> Git:
        """Git for this folder. Locks of git that a killed process has left in the loop's own worktree are removed.

        Raises:
            ChangedConfigError: The settings of git were changed since the start.
            GitError: The folder is no worktree any more.
        """
        git_dir = _git_dir(self.common, self.path, is_users=self.branch is None)
        git = Git(work_tree=self.path, git_dir=git_dir)
        if self.branch is not None and git_dir.parent == self.common / "worktrees":
            _restore_git_file(self.path, git_dir)
            remove_stale_locks(self.path, git_dir, self.common, self.branch)
        if git.config_mark() != self.config_mark:
            raise ChangedConfigError(
                f"the configuration of git in {self.common} was changed while the loop ran; look at it with "
                "`git config --list --show-origin`, then resume the loop"
            )
        return git

    def read_config_mark(self) -> str:
        """Return the hash of git's settings as they are now. A worktree may have settings of its own."""
        git_dir = _git_dir(self.common, self.path, is_users=self.branch is None)
        return Git(work_tree=self.path, git_dir=git_dir).config_mark()

    def tree(self) -> str:
        """Return the id of the tree of all files, changed and new ones included, without changing the index."""
        git = self.git
        with explain(f"the files in {self.path} cannot be compared"), scratch_index(git) as index:
            stage(git, index)
            return git.run("write-tree", more=index)

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git.run("rev-parse", "HEAD")

    def committed(self, tree: str) -> str | None:
        """Return the newest commit of the branch if its files are those of a tree; None if they are not."""
        git, branch = self.git, f"refs/heads/{self.branch}"
        if not git.succeeds("rev-parse", "--verify", "--quiet", branch):
            return None
        commit, its_tree = git.run("rev-parse", branch, f"{branch}^{{tree}}").split()
        return commit if its_tree == tree else None

    def commit_all(self, message: str) -> str:
        """Commit all changes on the branch, if there are any, and return the newest commit.

        Raises:
            GitError: Git failed, or the branch is checked out in another folder.
        """
        git = self.git
        with explain(f"the changes cannot be committed on {self.branch}"):
            self._return_to_branch(git)
            stage(git)
            if git.run("write-tree") != git.run("rev-parse", "HEAD^{tree}"):
                git.run("commit", "--no-verify", "--quiet", "--message", message, more=identity(git))
            return git.run("rev-parse", "HEAD")

    def changes_configuration(self) -> bool:
        """Return whether OpenCode's configuration differs from the base, from which OpenCode would run code."""
        names = (".opencode", "opencode.json", "opencode.jsonc")
        git = self.git
        with explain(f"the files in {self.path} cannot be compared"), scratch_index(git) as index:
            stage_ignored(git, names, more=index)
            return bool(git.run("diff", "--cached", "--name-only", self.base, "--", *names, more=index))

    def remove_products(self) -> None:
        """Remove the new files that a check has made. All work was committed before, and ignored files stay."""
        with explain(f"new files cannot be removed from {self.path}"):
            remove_untracked(self.git)

    def remember_setup(self) -> None:
        """Keep what the setup command has written out of the commits, unless it is changed later."""
        with explain("what the setup command wrote cannot be recorded"):
            remember_setup_everywhere(self.git)

    def submodules(self) -> list[str]:
        """Return the paths of the submodules, for a text."""
        with explain("the submodules cannot be listed"):
            return [replace_surrogates(path) for path in links_of_index(self.git)]

    def lost_work(self) -> list[str]:
        """Return the work that no commit holds: changes in submodules, and in repositories inside the worktree."""
        with explain("the submodules cannot be compared"):
            return list(describe_lost(self.git, self.base))

    def diff(self) -> str:
        """Return the changes since the base; a long diff is cut."""
        git = self.git
        with explain(f"the files in {self.path} cannot be compared"), scratch_index(git) as index:
            stage(git, index)
            # A file may have another encoding, whose bytes are not valid in the prompt of an audit.
            text = replace_surrogates(git.run("diff", "--cached", *_PLAIN, self.base, "--", more=index))
        if len(text) <= _DIFF_CHARACTERS:
            return text
        return f"{text[:_DIFF_CHARACTERS]}\n[{len(text) - _DIFF_CHARACTERS:,} characters are left out; read the files]"

    @contextmanager
    def fresh_checkout(
        self, commit: str, folder: Path, *, source: Path | None = None, copies: Sequence[str] = ()
    ) -> Iterator[Path]:
        """Check a commit out into a folder, which is removed afterwards.

        Args:
            commit: The commit.
            folder: The folder; it is removed before, if it is there.
            source: The user's folder, from which files are copied.
            copies: Patterns of ignored files that are copied, as into the worktree.
        """
        git = self.git
        with explain(f"the branch cannot be checked out into {folder}"):
            _remove_checkout(git, folder)
            git.run("worktree", "add", "--detach", "--force", str(folder), commit)
        try:
            listed = [git.run("ls-tree", name, "--", ".gitmodules") for name in (self.base, commit)]
            # A changed list of submodules may name any address, which git would open as the user.
            if listed[0] and listed[0] == listed[1]:
                _fetch_submodules(Git(work_tree=folder, git_dir=_git_dir(self.common, folder)))
            if source is not None:
                _copy(source, folder, _list_ignored(Git(work_tree=source), copies))
            yield folder
        finally:
            _remove_checkout(git, folder)

    def remove(self) -> str | None:
        """Remove the folder if all is committed; the branch stays. Return why it is left, or None."""
        try:
            git = self.git
            self._return_to_branch(git)
            if lost := [*uncommitted_files(git), *describe_lost(git, self.base)]:
                names = ", ".join(one_line(name, _NAME_CHARACTERS) for name in lost[:_MOST_NAMED])
                more = f" and {len(lost) - _MOST_NAMED:,} more" if len(lost) > _MOST_NAMED else ""
                return f"not committed: {replace_surrogates(names)}{more}"
            # Without force, git removes no folder with submodules or with files of the setup command.
            git.run("worktree", "remove", "--force", str(self.path))
        except GitError as error:
            return f"git cannot remove it ({error.cause})"
        return None

    def _return_to_branch(self, git: Git) -> None:
        """Make HEAD point to the loop's branch again; the files stay as they are.

        A model may detach HEAD, make a branch of its own, or rename the loop's branch. Commits on a detached HEAD would
        be lost with the folder, and the user is told to merge the loop's branch.
        """
        branch = f"refs/heads/{self.branch}"
        if self.branch is None or git.run("rev-parse", "--symbolic-full-name", "HEAD") == branch:
            return
        used = git.run("for-each-ref", "--format=%(worktreepath)", branch)
        if used:
            raise GitError("symbolic-ref", f"{self.branch}, the branch of the loop, is now checked out in {used}")
        exists = git.succeeds("rev-parse", "--verify", "--quiet", branch)
        if not exists or git.succeeds("merge-base", "--is-ancestor", branch, "HEAD"):
            git.run("update-ref", branch, "HEAD")
        git.run("symbolic-ref", "HEAD", branch)


def create(
    repository: Repository, path: Path, branch: str, *, base: str, takes_changes: bool, copies: Sequence[str]
) -> Worktree:
    """Create a worktree, or find the one that an interrupted call has made.

    Args:
        repository: The user's repository.
        path: The folder.
        branch: Its branch.
        base: The commit to start from.
        takes_changes: Whether uncommitted changes and new files come along, as a first commit.
        copies: Patterns of ignored files that are copied, for example ``.env``.

    Raises:
        GitError: Git failed.
        InvalidInputError: The folder exists and is something else.
    """
    main = Git(work_tree=repository.folder)
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with explain(f"the worktree {path} with the branch {branch} cannot be made"):
            main.run("worktree", "prune")
            if main.succeeds("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"):
                main.run("worktree", "add", str(path), branch)
            else:
                main.run("worktree", "add", "-b", branch, str(path), base)
    git = Git(work_tree=path, git_dir=_git_dir(repository.common, path))
    if git.run("rev-parse", "--abbrev-ref", "HEAD") != branch:
        raise InvalidInputError(f"worktree: {path} is there, but not on the branch {branch}", field="worktree")
    made = Worktree(path=path, branch=branch, base=base, common=repository.common, config_mark=git.config_mark())
    if (path / ".gitmodules").is_file():
        _fetch_submodules(git)
    _copy(repository.folder, path, _list_ignored(main, copies))
    if takes_changes and made.head() == base:
        with explain("your uncommitted changes cannot be taken along"):
            stash = main.run("stash", "create", more=identity(main))
            if stash:
                git.run("reset", "--quiet", "--hard", base)
                git.run("stash", "apply", "--quiet", stash)
            _copy(repository.folder, path, list_names(main, "ls-files", "--others", "--exclude-standard", "-z"))
        made.commit_all(_TAKEN_ALONG)
    return made


def in_place(repository: Repository, *, base: str) -> Worktree:
    """Return the user's own folder as the place of a loop."""
    mark = Git(work_tree=repository.folder).config_mark()
    return Worktree(path=repository.folder, branch=None, base=base, common=repository.common, config_mark=mark)


def _fetch_submodules(git: Git) -> None:
    with explain(f"the submodules cannot be fetched into {git.work_tree}"):
        git.run("submodule", "update", "--init", "--recursive", seconds=_SUBMODULE_SECONDS)


def _restore_git_file(path: Path, git_dir: Path) -> None:
    """Write the ``.git`` file again if it was deleted. Without it, ``git worktree prune`` forgets the worktree."""
    with suppress(FileExistsError), (path / ".git").open("x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"gitdir: {git_dir}\n")


def _git_dir(common: Path, path: Path, *, is_users: bool = False) -> Path:
    """Return the folder of git for a worktree, without reading the ``.git`` file in it.

    Args:
        common: The folder of git that all worktrees share.
        path: The worktree.
        is_users: Whether it is the user's own folder, which may be a submodule or have its folder of git elsewhere.
    """
    for entry in sorted((common / "worktrees").iterdir()) if (common / "worktrees").is_dir() else ():
        try:
            named = Path((entry / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()).parent
        except OSError:
            continue
        if os.path.realpath(named) == os.path.realpath(path):
            return entry
    if is_users or (common.name == ".git" and os.path.realpath(common.parent) == os.path.realpath(path)):
        return common
    raise GitError("worktree", f"{path} is no worktree of {common}")


def _remove_checkout(git: Git, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    git.run("worktree", "prune")


def _list_ignored(git: Git, patterns: Sequence[str]) -> Iterator[str]:
    if not patterns:
        return
    for name in list_names(git, "ls-files", "--others", "--ignored", "--exclude-standard", "-z"):
        if any(fnmatchcase(name, pattern) or fnmatchcase(Path(name).name, pattern) for pattern in patterns):
            yield name


def _copy(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files that are there, without following symbolic links out of the repository or out of the target.

    Raises:
        InvalidInputError: There are too many.
    """
    root = source.resolve()
    for number, name in enumerate(names):
        if number >= _MOST_COPIED:
            message = f"copies: more than {_MOST_COPIED:,} files would be copied; commit or ignore some"
            raise InvalidInputError(message, field="copies")
        given, placed = source / name, target / name
        if given.is_symlink() or not given.is_file() or not given.resolve().is_relative_to(root):
            continue
        if not placed.parent.resolve().is_relative_to(target.resolve()):
            continue  # The loop has committed a link in place of the folder.
        placed.parent.mkdir(parents=True, exist_ok=True)
        if not placed.exists():
            # A file is there as a whole or not at all, also if the server dies meanwhile.
            part = target.parent / _PART
            shutil.copy2(given, part)
            part.replace(placed)
