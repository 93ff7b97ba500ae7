"""The result of synchronizing a folder of files with a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """The kind of change that a file stands for."""

    ADD = "add"
    EDIT = "edit"
    DELETE = "delete"
    RESTORE = "restore"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A change made in the folder.

    Attributes:
        kind: ``add``, ``edit``, ``delete``, ``restore`` or ``unclear``.
        name: Name of the file.
        id: The memory; None if there is none yet.
        reason: Why it was not applied; empty if it was, or if it waits for a review.
    """

    kind: Kind
    name: str
    id: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport:
    """The result for a folder; ``mirror.sync`` returns it.

    Attributes:
        path: The folder.
        project: The project; None for the global memories.
        applied: Changes by the user that are in the store now, or would be in a dry run.
        proposed: Changes that came with git, with a copy of the folder, or too many to be intended. New texts wait for
            review; deletions and other fields were not applied.
        unclear: Files that cannot be read; they stay as they are.
        written: Names of files that were written, or would be.
        removed: Names of files whose memories are no longer shown, or would be removed.
        missing: Names of deleted files whose memories are still active, because the deletions did not come from the
            user, or were too many to be intended.
        shown: Number of memories that are to have a file.
        is_complete: Whether all files are written; a batch has a limit.
        dry_run: Whether nothing was written.
        problem: Why the folder was left alone, and how to repair it; None if there is no problem.
    """

    path: Path
    project: str | None
    applied: tuple[FileChange, ...] = ()
    proposed: tuple[FileChange, ...] = ()
    unclear: tuple[FileChange, ...] = ()
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    shown: int = 0
    is_complete: bool = True
    dry_run: bool = False
    problem: str | None = None


@dataclass(slots=True)
class Done:
    """The changes so far."""

    applied: list[FileChange] = field(default_factory=list)
    proposed: list[FileChange] = field(default_factory=list)
    unclear: list[FileChange] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
