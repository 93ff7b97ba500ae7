"""Finds the changes made in the managed part.

A pure function of the file's text and of the memories that it names. It finds the changes, not their author, and does
not decide whether to apply them. A bullet that cannot be interpreted is ``UNCLEAR`` and changes no memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.memory_file.bullet import Bullet, without_note
from opencode_memory.memory_file.bullet_text import (
    ELLIPSIS,
    Shown,
    digest,
    ends_shortened,
    one_line,
    plain_line,
    render_text,
    show_line,
    unescape,
)
from opencode_memory.memory_file.headings import PLAIN, Heading, heading_of
from opencode_memory.memory_file.part import read_part
from opencode_memory.memory_file.word_edit import apply_words
from opencode_memory.models import Category, Memory
from opencode_memory.text.formatting import short_id

_FEWEST_OF_A_MASS: Final = 4


class Kind(StrEnum):
    """The kind of change of a bullet."""

    ADD = "add"
    EDIT = "edit"
    DELETE = "delete"
    RESTORE = "restore"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that a file names, or that it showed.

    Attributes:
        id: Its id.
        memory: The memory; None if it was deleted since.
        was_shown: Whether the last written version showed it.
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
        kind: The kind of change.
        id: The memory; None for a new one.
        content: The new text; None if it stays.
        category: The new category; None if it stays.
        reason: Why the change is unclear; else empty.
        bullet: The bullet in the file; None if it was removed.
    """

    kind: Kind
    id: str | None
    content: str | None = None
    category: Category | None = None
    reason: str = ""
    bullet: Bullet | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes of the managed part.

    Attributes:
        changes: The changes, in the order of the file, deletions last.
        foreign: Lines that do not belong in the managed part.
        is_mass_deletion: Whether so many bullets are missing that the file is probably another version.
    """

    changes: tuple[Change, ...]
    foreign: tuple[str, ...]
    is_mass_deletion: bool


def diff_part(text: str | Sequence[str], known: Mapping[str, Known]) -> Changes:
    """Find the changes.

    Args:
        text: The text between the two marks of the managed part, as one text or as lines without line ends.
        known: The memories, by the id in their marks. A memory that was shown and that no mark names, by its full id.
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
    showed = {memory.id: memory.is_live for memory in known.values() if memory.was_shown}
    gone = [id_ for id_, is_live in showed.items() if is_live and id_ not in present]
    changes += [Change(kind=Kind.DELETE, id=id_) for id_ in gone]
    return Changes(tuple(changes), part.foreign, is_mass(len(gone), len(showed)))


def is_mass(gone: int, shown: int) -> bool:
    """Return whether so many of the shown memories are missing that it was probably not intended."""
    return gone >= _FEWEST_OF_A_MASS and 2 * gone > shown


def _owners(bullets: Sequence[Bullet], known: Mapping[str, Known]) -> dict[int, Known]:
    """Return the memory of each bullet, by the position of the bullet; each memory has at most one bullet.

    Of several bullets with one mark, the unchanged one is the memory, else the first. A user who copies a bullet may
    edit either copy.
    """
    owners: dict[int, Known] = {}
    taken: set[str] = set()
    for place, bullet in sorted(enumerate(bullets), key=lambda pair: not pair[1].is_untouched):
        owner = None if bullet.mark is None else known.get(bullet.mark.id)
        # A mark without a text remains if a user deletes only the text.
        if owner is not None and owner.id not in taken and bullet.text:
            taken.add(owner.id)
            owners[place] = owner
    lost = {
        render_text(shown.memory.content).text: shown
        for shown in known.values()
        if shown.memory is not None and shown.was_shown and shown.id not in taken
    }
    for place, bullet in enumerate(bullets):
        # Tools that format Markdown may remove comments.
        text = bullet.text if bullet.text in lost else without_note(bullet.text)
        if bullet.mark is None and text in lost:
            owners[place] = lost.pop(text)
    return owners


def _change(bullet: Bullet, owner: Known | None, *, is_copy: bool) -> Change | None:
    """Return the change of one bullet; None if it is unchanged."""
    mark = bullet.mark
    if not bullet.text or (is_copy and bullet.is_untouched):
        return None
    if owner is None or owner.memory is None:
        # The memory was deleted since. Remove an unchanged bullet; a changed one is newer than the deletion.
        return None if owner is not None and bullet.is_untouched else _addition(bullet)
    if not owner.is_live:
        if bullet.is_untouched:
            return None if owner.was_shown else Change(kind=Kind.RESTORE, id=owner.id, bullet=bullet)
        return None if _says(owner.memory, bullet) else _addition(bullet)
    category = _new_category(owner.memory, bullet)
    if mark is None or bullet.is_untouched or _says(owner.memory, bullet):
        return None if category is None else Change(kind=Kind.EDIT, id=owner.id, category=category, bullet=bullet)
    content = _apply_edit(owner.memory, bullet, mark.digest)
    if content is None:
        return _report_unplaced(bullet, owner.memory, mark.digest)
    return Change(kind=Kind.EDIT, id=owner.id, content=content, category=category, bullet=bullet)


def _apply_edit(memory: Memory, bullet: Bullet, digest_before: str) -> str | None:
    """Return the new text of a memory whose bullet was edited; None if the edit could lose a part of the text."""
    content = memory.content.strip()
    shown = render_text(memory.content)
    if unescape(shown.text) == content:
        return bullet.content
    if digest_before == digest(shown.text) and (text := apply_words(memory.content, bullet.content)) is not None:
        return text
    if len(content.splitlines()) > 1 or _may_be_shortened(bullet) or _shows_cut(content, shown, bullet):
        return None
    return bullet.content


def _shows_cut(content: str, shown: Shown, bullet: Bullet) -> bool:
    """Return whether a bullet still has the ellipsis of a shortened text, or ends where it was cut."""
    words = bullet.text.split()
    has_ellipsis = words.count(ELLIPSIS) > content.split().count(ELLIPSIS)
    return shown.is_shortened and (has_ellipsis or words[-1:] == shown.text.split()[-2:-1])


def _report_unplaced(bullet: Bullet, memory: Memory, digest_before: str) -> Change:
    name = short_id(memory.id)
    reason = (
        "its memory has several lines or was shown shortened, and the changed words have no certain place in it"
        if digest_before == digest(render_text(memory.content).text)
        else "its memory has several lines or is shown shortened, and was changed after this bullet was written"
    )
    reason += (
        f"; nothing was changed: use `opencode-memory edit --editor {name}`, or take the change of the bullet back"
    )
    return Change(kind=Kind.UNCLEAR, id=memory.id, reason=reason, bullet=bullet)


def _addition(bullet: Bullet) -> Change:
    if _may_be_shortened(bullet):
        reason = "the text was shown shortened: write the whole of it, without the … at its end"
        return Change(kind=Kind.UNCLEAR, id=None, reason=reason, bullet=bullet)
    return Change(
        kind=Kind.ADD, id=None, content=bullet.content, category=(bullet.heading or PLAIN).category, bullet=bullet
    )


def _may_be_shortened(bullet: Bullet) -> bool:
    """Return whether the end of a text may be missing; a damaged mark does not tell whether it was shortened."""
    mark = bullet.mark
    return mark is not None and (mark.is_shortened or not mark.digest) and ends_shortened(bullet.text)


def _new_category(memory: Memory, bullet: Bullet) -> Category | None:
    """Return the category of a moved bullet; moving a directive to the confirmed ones confirms it."""
    heading: Heading | None = bullet.moved_to
    if heading is None or heading is heading_of(memory):
        return None
    is_confirmed = heading.category is not memory.category or heading.is_confirmed
    return heading.category if is_confirmed else None


def _says(memory: Memory, bullet: Bullet) -> bool:
    """Return whether a bullet shows the current text of its memory."""
    said = {one_line(memory.content), plain_line(memory.content)}
    if bullet.text == render_text(memory.content).text or one_line(bullet.content) in said:
        return True
    # An edit moves the cut of a shortened text, so a process that died before it wrote the file left another bullet.
    is_cut = bullet.mark is not None and bullet.mark.is_shortened and bullet.text.endswith(f" {ELLIPSIS}")
    return is_cut and show_line(memory.content).startswith(one_line(bullet.content).removesuffix(f" {ELLIPSIS}"))
