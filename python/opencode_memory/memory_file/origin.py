"""Determines the author of changes in the managed part: the user in this work tree, or another author through git.

Git writes whole files, and keeps what it wrote in ``HEAD`` and in its index. A change that is also there may have come
with a checkout, a merge, a pull or a clone, so it waits for review. A change that exists only in the work tree, on top
of the last written version, was made here. If this cannot be determined, the change counts as another author's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.errors import ConflictError
from opencode_memory.memory_file.bullet import Bullet
from opencode_memory.memory_file.diff import Change, Changes, Kind
from opencode_memory.memory_file.frame import Frame, read_frame
from opencode_memory.memory_file.git_state import Head
from opencode_memory.memory_file.last_written import LastWritten
from opencode_memory.memory_file.part import read_part


class ChangedBy(StrEnum):
    """The author of a change."""

    PERSON = "person"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Origin:
    """Changes by author.

    Attributes:
        own: Changes by the user.
        others: Changes by other authors, and deletions of most of the file by any author.
        is_unsaved: Whether a text of another author exists only in this file, so that it must not be overwritten.
    """

    own: tuple[Change, ...]
    others: tuple[Change, ...]
    is_unsaved: bool


_LONGEST: Final = 100_000
"""Characters of a memory; a longer text cannot become one."""

_POINTER: Final = b"version https://git-lfs"

_NOTHING: Final = Origin((), (), is_unsaved=False)


@dataclass(frozen=True, slots=True)
class _Version:
    """A version that git has: the file, and the bullets of its managed part."""

    frame: Frame
    bullets: tuple[Bullet, ...]

    def is_same(self, frame: Frame) -> bool:
        """Return whether a file equals this version including its mark; then git wrote it."""
        return (self.frame.fingerprint, self.frame.body) == (frame.fingerprint, frame.body)

    def has(self, change: Change, *, moved: bool) -> bool:
        """Return whether this version contains a change of the work tree.

        Args:
            change: The change.
            moved: Whether ``HEAD`` is another commit than at the last writing. If it is the same, a bullet that is
                missing here too may never have been committed.
        """
        if change.bullet is None:
            return moved and not any(_names(bullet, change.id or "") for bullet in self.bullets)
        if change.id is None:
            return any(bullet.text == change.bullet.text for bullet in self.bullets)
        same = [bullet for bullet in self.bullets if _names(bullet, change.id or "")]
        if change.kind is Kind.EDIT and change.content is None:
            return any(bullet.heading is change.bullet.heading for bullet in same)
        return any(bullet.text == change.bullet.text for bullet in same)


def find_origin(
    changes: Changes,
    frame: Frame,
    *,
    last: LastWritten | None,
    head: Head,
    versions: Callable[[], Sequence[bytes] | None],
    changed_by: ChangedBy | None,
) -> Origin:
    """Determine the authors of changes.

    Args:
        changes: The changes.
        frame: The file that they are in.
        last: The last writing in this work tree; None if there was none.
        head: The current position of ``HEAD``.
        versions: Returns the versions of the file that git has, None if git cannot tell; called only if needed.
        changed_by: The author, if the caller knows.
    """
    if not changes.changes:
        return _NOTHING
    if changed_by is not None:
        return _sort(changes, lambda _: changed_by is ChangedBy.PERSON, is_unsaved=False)
    found = versions()
    try:
        held = [version for data in found or () if (version := _read(data)) is not None]
    except ConflictError:
        # Git stores an encrypted file or a pointer to another file, which cannot be compared with the work tree.
        found, held = None, []
    moved = last is None or head.commit is None or last.head.commit != head.commit
    saved = {id(one) for one in changes.changes if any(version.has(one, moved=moved) for version in held)}
    is_another = (
        last is None
        or last.fingerprint != frame.fingerprint
        or (moved and found is None)
        or any(version.is_same(frame) for version in held)
    )
    return _sort(
        changes,
        lambda change: not is_another and id(change) not in saved,
        is_unsaved=any(_holds_text(one) and is_another and id(one) not in saved for one in changes.changes),
    )


def _sort(changes: Changes, is_own: Callable[[Change], bool], *, is_unsaved: bool) -> Origin:
    own: list[Change] = []
    others: list[Change] = []
    for change in changes.changes:
        if is_own(change) and not (changes.is_mass_deletion and change.kind is Kind.DELETE):
            own.append(change)
        # An old version of the file names memories that were archived since; that is not a change.
        elif change.kind is not Kind.RESTORE:
            others.append(change)
    return Origin(tuple(own), tuple(others), is_unsaved)


def _holds_text(change: Change) -> bool:
    """Return whether a change holds text that a review does not keep."""
    if change.kind is Kind.ADD:
        return len(change.content or "") > _LONGEST
    return change.kind is Kind.UNCLEAR or (change.kind is Kind.EDIT and change.content is not None)


def _read(data: bytes) -> _Version | None:
    """Parse a version; None for one without a managed part.

    Raises:
        ConflictError: Its marks are invalid.
    """
    if data.startswith(_POINTER):
        raise ConflictError("git keeps the file elsewhere")
    frame = read_frame(data)
    return None if frame.body is None else _Version(frame, read_part(frame.body).bullets)


def _names(bullet: Bullet, id: str) -> bool:
    return bullet.mark is not None and id.endswith(bullet.mark.id)
