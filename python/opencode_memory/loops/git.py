"""Runs git on the user's machine for a loop, so that nothing inside a worktree can run code here.

A program in a worktree can replace its ``.git`` file and change the shared configuration. So the folder of git is named
in each call, hooks and the file system monitor are off, and a changed configuration is noticed before git reads it for
work: ``config_mark`` differs then.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opencode_memory.config.load import environment as inherited
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.loops.left_over import mark
from opencode_memory.text.display import one_line

_SECONDS: Final = 120.0
_SAID_CHARACTERS: Final = 2_000
_CAUSE_CHARACTERS: Final = 200
_MARKS: Final = ("fatal:", "error:")
_OPTIONS: Final = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.untrackedCache=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
)
# Keys that git itself or a user's usual work changes. None of them runs a program.
_HARMLESS: Final = (
    "branch.",
    "remote.",
    "user.",
    "submodule.",
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "extensions.worktreeconfig",
)
_NO_SPACE: Final = ("No space left on device", "Disk quota exceeded")
_RUNS_A_PROGRAM: Final = (".uploadpack", ".receivepack", ".vcs", ".update", ".proxy")


class GitError(OpencodeMemoryError):
    """Git failed.

    Attributes:
        command: The command of git.
        said: The end of its error output.
        problem: The step that failed, for the user; empty if the caller has not explained it.
        advice: What the user can do about it; empty if nothing is known.
    """

    def __init__(self, command: str, said: str, *, problem: str = "", advice: str = "") -> None:
        more = f"; {advice}" if advice else ""
        super().__init__(f"{problem or 'git failed'} (git {command}: {_shorten(said)}){more}")
        self.command = command
        self.said = said
        self.problem = problem
        self.advice = advice

    @property
    def cause(self) -> str:
        """The line of its error output that names the cause."""
        return _shorten(self.said)


@contextmanager
def explain(problem: str) -> Iterator[None]:
    """Say in errors of git what could not be done. The innermost explanation counts.

    Args:
        problem: For example ``the changes cannot be committed``.
    """
    try:
        yield
    except GitError as error:
        if error.problem:
            raise
        raise GitError(error.command, error.said, problem=problem, advice=error.advice) from error


def _shorten(said: str) -> str:
    """Return the first line that git marks as an error, without the mark, or the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(_MARKS):
            return one_line(line.partition(":")[2], _CAUSE_CHARACTERS)
    return one_line(lines[-1] if lines else said, _CAUSE_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Git for one work tree.

    Attributes:
        work_tree: The files.
        git_dir: The folder of git for these files; None to let git find it, which is safe only in the user's own tree.
        environment: More variables.
    """

    work_tree: Path
    git_dir: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, seconds: float = _SECONDS, more: Mapping[str, str] | None = None, given: str = ""
    ) -> str:
        """Run a command of git and return its output without the last line end.

        Args:
            arguments: The command and its arguments.
            seconds: Time limit.
            more: More variables.
            given: Its standard input.

        Raises:
            GitError: Git failed, or took too long.
        """
        place = ["-C", str(self.work_tree)]
        if self.git_dir is not None:
            place += [f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}"]
        options = [part for option in _OPTIONS for part in ("-c", option)]
        environment = {name: value for name, value in inherited().items() if not name.startswith("GIT_")}
        environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **mark()}
        try:
            ran = subprocess.run(  # noqa: S603  git, with arguments of our own
                ["git", *place, *options, *arguments],  # noqa: S607  the user's git
                env={**environment, **self.environment, **(more or {})},
                input=os.fsencode(given),
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(arguments[0], f"it took longer than {seconds:g} s") from error
        except OSError as error:
            raise GitError(arguments[0], error.strerror or "git cannot be started") from error
        if ran.returncode != 0:
            said = (ran.stderr or ran.stdout).decode("utf-8", "replace").strip()
            advice = self._advise_on_space() if any(sign in said for sign in _NO_SPACE) else ""
            raise GitError(arguments[0], said[-_SAID_CHARACTERS:] or f"exit code {ran.returncode}", advice=advice)
        return ran.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def _advise_on_space(self) -> str:
        """Say what to do about a full disk. Git keeps its temporary files for two weeks, and they fill the disk, too.

        They are not deleted here, because another git of the user may be writing one.
        """
        folder = self.git_dir or self.work_tree / ".git"
        objects = (folder.parent.parent if folder.parent.name == "worktrees" else folder) / "objects"
        return f"free some space; while no git runs, the files tmp_obj_* below {objects} can be deleted, too"

    def succeeds(self, *arguments: str) -> bool:
        """Return whether a command of git succeeds."""
        try:
            self.run(*arguments)
        except GitError:
            return False
        return True

    def config_mark(self) -> str:
        """Return a hash of the repository's settings that may run a program; it changes only if one of them does."""
        kept = sorted(f"{setting.scope} {setting.entry}" for setting in self._risky())
        return hashlib.sha256("\0".join(kept).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def risky_settings(self) -> list[str]:
        """Return the keys of the repository's settings that may run a program."""
        return [setting.key for setting in self._risky()]

    def _risky(self) -> list[_Setting]:
        pairs = self.run("config", "--list", "--null", "--show-scope").split("\0")
        found = [_Setting(scope, entry) for scope, entry in zip(pairs[::2], pairs[1::2], strict=False)]
        return [setting for setting in found if setting.scope in {"local", "worktree"} and not setting.is_harmless]


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting of git: where it is set, and its key and value on two lines."""

    scope: str
    entry: str

    @property
    def key(self) -> str:
        return self.entry.partition("\n")[0].lower()

    @property
    def is_harmless(self) -> bool:
        return self.key.startswith(_HARMLESS) and not self.key.endswith(_RUNS_A_PROGRAM)


def identity(git: Git) -> dict[str, str]:
    """Return the variables that name the author of commits, if the user has configured none."""
    if git.succeeds("var", "GIT_COMMITTER_IDENT") and git.succeeds("config", "user.email"):
        return {}
    name, email = "opencode-memory loop", "loop@opencode-memory.invalid"
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


def no_push_environment() -> dict[str, str]:
    """Return variables with which no form of ``git push`` leaves this machine; fetching works."""
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "url.loop-does-not-push:.pushInsteadOf",
        "GIT_CONFIG_VALUE_0": "",
        "GIT_TERMINAL_PROMPT": "0",
    }
