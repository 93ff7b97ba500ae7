"""What somebody changed in the managed part.

A pure function of the file's text and of what is known about the memories that it names. It says what was changed, not
by whom, nor whether that counts; a bullet of which nobody can tell what was meant is ``UNCLEAR`` and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.memory_file.bullet import Bullet
from opencode_memory.memory_file.bullet_text import ends_shortened, one_line, plain_line, shown
from opencode_memory.memory_file.headings import PLAIN, Heading, heading_of
from opencode_memory.memory_file.part import read_part
from opencode_memory.models import Category, Memory

_FEWEST_OF_A_MASS: Final = 4


class Kind(StrEnum):
    """What was done to a bullet."""

    ADD = "add"
    EDIT = "edit"
    DELETE = "delete"
    RESTORE = "restore"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about a memory that a file names, or that it showed.

    Attributes:
        id: Its id.
        memory: The memory; None when it was deleted since.
        was_shown: Whether the file showed it when it was written last.
        is_live: Whether it is active and not expired.
    """

    id: str
    memory: Memory | None
    was_shown: bool
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the managed part.

    Attributes:
        kind: What was done.
        id: The memory; None when it is new.
        content: The new text; None when it stays.
        category: The new category; None when it stays.
        reason: Why it is unclear; empty otherwise.
        bullet: The bullet as it stands in the file; None when it is gone.
    """

    kind: Kind
    id: str | None
    content: str | None = None
    category: Category | None = None
    reason: str = ""
    bullet: Bullet | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that was changed in the managed part.

    Attributes:
        changes: The changes, in the order of the file, deletions last.
        foreign: Lines that have no place in the managed part.
        is_mass_deletion: Whether so many bullets are gone at once that it is rather another version of the file.
    """

    changes: tuple[Change, ...]
    foreign: tuple[str, ...]
    is_mass_deletion: bool


def understand(text: str | Sequence[str], known: Mapping[str, Known]) -> Changes:
    """Say what was changed.

    Args:
        text: What stands between the two marks of the managed part, as one text or as lines without their ends.
        known: What is known, by the id that the marks give; what was shown and is named by no mark, by its full id.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")] if isinstance(text, str) else text
    part = read_part(lines)
    owners = _owners(part.bullets, known)
    changes: list[Change] = []
    for place, bullet in enumerate(part.bullets):
        owner = owners.get(place)
        is_copy = owner is None and bullet.mark is not None and bullet.mark.id in known
        change = _change(bullet, owner, is_copy=is_copy)
        if change is not None:
            changes.append(change)
    present = {owner.id for owner in owners.values()}
    showed = {one.id: one.is_live for one in known.values() if one.was_shown}
    gone = [one for one, is_live in showed.items() if is_live and one not in present]
    changes += [Change(kind=Kind.DELETE, id=one) for one in gone]
    is_mass = len(gone) >= _FEWEST_OF_A_MASS and 2 * len(gone) > len(showed)
    return Changes(tuple(changes), part.foreign, is_mass)


def _owners(bullets: Sequence[Bullet], known: Mapping[str, Known]) -> dict[int, Known]:
    """Return the memory that each bullet stands for, by the bullet's place; each memory has at most one bullet.

    Of several bullets with one mark, the one that nobody touched is the memory, else the first: whoever copies a bullet
    may edit either of the two.
    """
    owners: dict[int, Known] = {}
    taken: set[str] = set()
    for place, bullet in sorted(enumerate(bullets), key=lambda pair: not pair[1].is_untouched):
        owner = None if bullet.mark is None else known.get(bullet.mark.id)
        # A mark without a text is what remains when somebody deletes the text.
        if owner is not None and owner.id not in taken and bullet.text:
            taken.add(owner.id)
            owners[place] = owner
    lost = {
        shown(one.memory.content).text: one
        for one in known.values()
        if one.memory is not None and one.was_shown and one.id not in taken
    }
    for place, bullet in enumerate(bullets):
        # Tools that tidy Markdown up may take comments out.
        if bullet.mark is None and bullet.text in lost:
            owners[place] = lost.pop(bullet.text)
    return owners


def _change(bullet: Bullet, owner: Known | None, *, is_copy: bool) -> Change | None:
    """Say what one bullet means; None when it is as it was."""
    mark = bullet.mark
    if not bullet.text or (is_copy and bullet.is_untouched):
        return None
    if owner is None or owner.memory is None:
        # What was deleted since and nobody touched goes; touched, it is a statement newer than the deletion.
        return None if owner is not None and bullet.is_untouched else _addition(bullet)
    if not owner.is_live:
        if bullet.is_untouched:
            return None if owner.was_shown else Change(kind=Kind.RESTORE, id=owner.id, bullet=bullet)
        return None if _says(owner.memory, bullet) else _addition(bullet)
    category = _new_category(owner.memory, bullet)
    if mark is None or bullet.is_untouched or _says(owner.memory, bullet):
        return None if category is None else Change(kind=Kind.EDIT, id=owner.id, category=category, bullet=bullet)
    if _may_be_shortened(bullet):
        return _unclear(bullet, owner.id)
    return Change(kind=Kind.EDIT, id=owner.id, content=bullet.content, category=category, bullet=bullet)


def _addition(bullet: Bullet) -> Change:
    if _may_be_shortened(bullet):
        return _unclear(bullet, None)
    return Change(
        kind=Kind.ADD, id=None, content=bullet.content, category=(bullet.heading or PLAIN).category, bullet=bullet
    )


def _may_be_shortened(bullet: Bullet) -> bool:
    """Say whether the end of a text may still be missing; a damaged mark does not say how it was written."""
    mark = bullet.mark
    return mark is not None and (mark.is_shortened or not mark.digest) and ends_shortened(bullet.text)


def _unclear(bullet: Bullet, id: str | None) -> Change:
    reason = "the text was shown shortened: write the whole of it, without the … at its end"
    return Change(kind=Kind.UNCLEAR, id=id, reason=reason, bullet=bullet)


def _new_category(memory: Memory, bullet: Bullet) -> Category | None:
    """Return the category that a moved bullet gets; moving a directive to the confirmed ones confirms it."""
    heading: Heading | None = bullet.moved_to
    if heading is None or heading is heading_of(memory):
        return None
    is_confirmed = heading.category is not memory.category or heading.is_confirmed
    return heading.category if is_confirmed else None


def _says(memory: Memory, bullet: Bullet) -> bool:
    """Say whether a bullet shows the text that its memory has now."""
    said = {one_line(memory.content), plain_line(memory.content)}
    return bullet.text == shown(memory.content).text or one_line(bullet.content) in said
