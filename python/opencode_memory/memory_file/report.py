"""The result of synchronizing a file with a store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from opencode_memory._core import redact
from opencode_memory.memory_file.diff import Change, Kind
from opencode_memory.models import Category


class Mode(StrEnum):
    """Whether a project's memories are kept in a file."""

    AUTO = "auto"
    OFF = "off"
    ASK = "ask"


class Outcome(StrEnum):
    """The outcome for the file."""

    OFF = "off"
    CONSENT_NEEDED = "consent_needed"
    UNCHANGED = "unchanged"
    WRITTEN = "written"
    WOULD_WRITE = "would_write"
    LEFT_ALONE = "left_alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulletChange:
    """A change made in the file.

    Attributes:
        kind: ``add``, ``edit``, ``delete``, ``restore`` or ``unclear``.
        id: The memory; None if there is none yet.
        content: The new text as it is stored, without secrets; None if it stays.
        category: The new category; None if it stays.
        reason: Why it was not applied; empty if it was, or if it waits for a review.
    """

    kind: Kind
    id: str | None
    content: str | None = None
    category: Category | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFileReport:
    """The result for a file; ``memory_file.sync`` returns it.

    Attributes:
        path: The file.
        outcome: The outcome: ``off`` (neither read nor written), ``consent_needed`` (does not exist, and was not
            created), ``unchanged``, ``written``, ``would_write`` (in a dry run), ``left_alone`` (``problem`` says why).
        added: Memories that the user added.
        edited: Memories whose text or category the user changed.
        archived: Memories whose bullets the user deleted.
        restored: Memories whose bullets the user put back.
        proposed: Changes that came with git, or too many to be intended: new memories and new texts wait as candidates;
            deletions were not applied.
        unclear: Bullets that cannot be interpreted; they stay as they are.
        shown: Number of memories that the file shows.
        moved_out: Lines that did not belong in the managed part and are behind it now.
        problem: Why the file was left alone, and how to repair it; None if there is no problem.
    """

    path: Path
    outcome: Outcome
    added: tuple[BulletChange, ...] = ()
    edited: tuple[BulletChange, ...] = ()
    archived: tuple[BulletChange, ...] = ()
    restored: tuple[BulletChange, ...] = ()
    proposed: tuple[BulletChange, ...] = ()
    unclear: tuple[BulletChange, ...] = ()
    shown: int = 0
    moved_out: int = 0
    problem: str | None = None

    @property
    def written(self) -> bool:
        """Whether the file was written."""
        return self.outcome is Outcome.WRITTEN

    @property
    def consent_needed(self) -> bool:
        """Whether the user has to allow the file first."""
        return self.outcome is Outcome.CONSENT_NEEDED


def to_bullet_change(change: Change, *, id: str | None = None, reason: str = "") -> BulletChange:
    """Convert a change for the report.

    Args:
        change: The change.
        id: The memory that it led to.
        reason: Why it was not applied.
    """
    content = change.content
    if content is None and change.kind is Kind.UNCLEAR and change.bullet is not None:
        content = change.bullet.content
    return BulletChange(
        kind=change.kind,
        id=id or change.id,
        content=None if content is None else redact(content)[0],
        category=change.category,
        reason=reason or change.reason,
    )
