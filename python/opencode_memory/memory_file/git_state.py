"""Reads the state of a file from git, without letting a repository run any program.

The position of ``HEAD`` is read from files. The committed and the staged version of a file need git itself: one
``cat-file``, which runs no hooks, no filters and no monitor.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.projects.identity import Repository, read_git_file

_READ_LIMIT: Final = 1 << 16
_PACKED_LIMIT: Final = 64 << 20
_DEEPEST_REF: Final = 5
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_SETTINGS: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # Otherwise a partial clone would fetch missing objects over the transport that its own configuration names.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


@dataclass(frozen=True, slots=True)
class Head:
    """The position of ``HEAD``.

    Attributes:
        branch: Full name of the branch; None if it is detached or unknown.
        commit: The commit; empty before the first one, None if it is unknown.
    """

    branch: str | None
    commit: str | None


NO_REPOSITORY: Final = Head(branch=None, commit="")


def read_head(repository: Repository) -> Head:
    """Read the position of ``HEAD`` of a work tree."""
    branch: str | None = None
    text = _read(repository.git_dir / "HEAD", _READ_LIMIT)
    for _ in range(_DEEPEST_REF):
        if text is None:
            break
        text = text.strip()
        if not text.startswith("ref:"):
            return Head(branch, text if _COMMIT.fullmatch(text) else None)
        name = text.removeprefix("ref:").strip()
        # A repository with the reftable format has no file for the ref.
        if not name.startswith("refs/") or ".." in name or name.endswith("/.invalid"):
            return Head(None, None)
        branch = branch or name
        text = _read(repository.git_dir / name, _READ_LIMIT) or _read(repository.common_dir / name, _READ_LIMIT)
        if text is None:
            text = _read_packed(repository.common_dir, name)
    return Head(branch, "" if branch is not None and text is None else None)


def unfinished_operation(repository: Repository) -> str | None:
    """Return the name of an unfinished git operation in a work tree; None if there is none."""
    return next((what for name, what in _UNDER_WAY.items() if (repository.git_dir / name).exists()), None)


def versions(
    repository: Repository, path: str, *, environment: Mapping[str, str], timeout_seconds: float = 5.0
) -> tuple[bytes, ...] | None:
    """Return the committed and the staged version of a file.

    Args:
        repository: The repository of the file.
        path: Its path in the work tree, with slashes.
        environment: Environment of the calling process; git's own variables are removed from it.
        timeout_seconds: After this time git counts as unable to tell.

    Returns:
        The existing versions; None if git cannot tell.
    """
    names = (f"HEAD:{path}", f":{path}")
    found = read_blobs(repository, names, environment=environment, timeout_seconds=timeout_seconds)
    return None if found is None else tuple(data for data in found if data is not None)


def read_blobs(
    repository: Repository, names: Sequence[str], *, environment: Mapping[str, str], timeout_seconds: float = 5.0
) -> tuple[bytes | None, ...] | None:
    """Return versions of files that git has.

    Args:
        repository: The repository of the files.
        names: The versions, as git names them: ``HEAD:path`` is the committed one, ``:path`` the staged one.
        environment: Environment of the calling process; git's own variables are removed from it.
        timeout_seconds: After this time git counts as unable to tell.

    Returns:
        The contents in the same order, None for a version that does not exist; None if git cannot tell.
    """
    if any("\n" in name for name in names):
        return None
    inherited = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    command = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    try:
        done = subprocess.run(  # noqa: S603  a fixed program with fixed arguments
            (*command, f"--git-dir={repository.git_dir}", "cat-file", "--batch"),
            env=inherited | _SETTINGS,
            input="".join(f"{name}\n" for name in names).encode("utf-8", errors="surrogateescape"),
            capture_output=True,
            timeout=timeout_seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _objects(done.stdout, len(names)) if done.returncode == 0 else None


def _objects(output: bytes, wanted: int) -> tuple[bytes | None, ...] | None:
    """Parse the output of ``cat-file --batch``; None if it does not hold the wanted number of answers."""
    found: list[bytes | None] = []
    at = 0
    while at < len(output):
        end = output.find(b"\n", at)
        end = len(output) if end < 0 else end
        head, at = output[at:end], end + 1
        if head.endswith(b" missing"):
            found.append(None)
            continue
        _, kind, size = head.rsplit(b" ", 2) if head.count(b" ") >= 2 else (b"", b"", b"")  # noqa: PLR2004  three words
        if kind != b"blob" or not size.isdigit():
            return None
        found.append(output[at : at + int(size)])
        at += int(size) + 1
    return tuple(found) if len(found) == wanted else None


def _read_packed(common_dir: Path, name: str) -> str | None:
    text = _read(common_dir / "packed-refs", _PACKED_LIMIT) or ""
    for line in text.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name and _COMMIT.fullmatch(commit):
            return commit
    return None


def _read(path: Path, limit: int) -> str | None:
    # A ref may be packed, and a folder with the same name is not a ref. Treat an unreadable ref as missing.
    data = read_git_file(path, limit)
    return None if data is None else data.decode("utf-8", errors="replace")
