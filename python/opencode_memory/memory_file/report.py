"""What came of bringing a file and a store together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from opencode_memory.memory_file.diff import Change, Kind
from opencode_memory.models import Category


class Mode(StrEnum):
    """Whether a project's memories are kept in a file."""

    AUTO = "auto"
    OFF = "off"
    ASK = "ask"


class Outcome(StrEnum):
    """What became of the file."""

    OFF = "off"
    CONSENT_NEEDED = "consent_needed"
    UNCHANGED = "unchanged"
    WRITTEN = "written"
    WOULD_WRITE = "would_write"
    LEFT_ALONE = "left_alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulletChange:
    """A change that somebody made in the file.

    Attributes:
        kind: ``add``, ``edit``, ``delete``, ``restore`` or ``unclear``.
        id: The memory; None when there is none yet.
        content: The new text; None when it stays.
        category: The new category; None when it stays.
        reason: Why it was not followed; empty when it was, or when it only waits for a review.
    """

    kind: Kind
    id: str | None
    content: str | None = None
    category: Category | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFileReport:
    """What came of a file; ``memory_file.sync`` returns it.

    Attributes:
        path: The file.
        outcome: What became of it: ``off`` (neither read nor written), ``consent_needed`` (not there, and not created),
            ``unchanged``, ``written``, ``would_write`` (in a dry run), ``left_alone`` (``problem`` says why).
        added: Memories that the person added.
        edited: Memories whose text or category the person changed.
        archived: Memories whose bullets the person deleted.
        restored: Memories whose bullets the person put back.
        proposed: Changes that came with git, or that are too many to be meant: new memories wait as candidates; edits
            and deletions were not made.
        unclear: Bullets of which it cannot be told what is meant; they stay as they are.
        shown: How many memories the file shows.
        moved_out: Lines that had no place in the managed part and now stand behind it.
        problem: Why the file was left alone, and how to mend it; None when nothing is wrong.
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
        """Whether the person has to allow the file first."""
        return self.outcome is Outcome.CONSENT_NEEDED


def told(change: Change, *, id: str | None = None, reason: str = "") -> BulletChange:
    """Put a change into a report.

    Args:
        change: The change.
        id: The memory that it led to.
        reason: Why it was not followed.
    """
    content = change.content
    if content is None and change.kind is Kind.UNCLEAR and change.bullet is not None:
        content = change.bullet.content
    return BulletChange(
        kind=change.kind,
        id=id or change.id,
        content=content,
        category=change.category,
        reason=reason or change.reason,
    )
