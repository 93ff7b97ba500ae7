"""Selects and orders the memories of a file.

Pinned memories come first, then the headings; below a heading by use, then by time. Uses are compared by powers of
four, so that a file in git does not change with every recall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opencode_memory.memory_file.bullet import bullet_line
from opencode_memory.memory_file.bullet_text import render_note, render_text
from opencode_memory.memory_file.headings import HEADINGS, RANK, Heading, heading_of
from opencode_memory.models import Memory, ScopeKind, Status
from opencode_memory.text.formatting import short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

FEWEST_LINES: Final = 5
"""Lines of a managed part that shows one memory: two marks, a blank line, a heading, a bullet."""

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_MARKS: Final = 2
_LINES_OF_A_HEADING: Final = 2
_MOST_LOOKED_AT: Final = 5000
"""Memories of one category that are compared, the newest; more would only cost time."""


@dataclass(frozen=True, slots=True)
class KeptBullet:
    """A bullet that stays as it is because it cannot be interpreted.

    Attributes:
        heading: Its heading.
        lines: Its lines.
        id: Its memory; None if it has none.
    """

    heading: Heading
    lines: tuple[str, ...]
    id: str | None


@dataclass(frozen=True, slots=True)
class Body:
    """The text between the two marks.

    Attributes:
        lines: The lines.
        shown: Ids of the memories in them, in order.
    """

    lines: tuple[str, ...]
    shown: tuple[str, ...]


def is_live(memory: Memory, *, at: datetime) -> bool:
    """Return whether a memory is active and not expired."""
    return memory.status is Status.ACTIVE and (memory.expires_at is None or memory.expires_at > at)


def may_be_shown(memory: Memory, *, at: datetime) -> bool:
    """Return whether a memory may be in a file: active, with a heading, and not only on request."""
    return is_live(memory, at=at) and heading_of(memory) is not None and not memory.is_on_request


def memories_to_show(
    store: MemoryStore, *, project: str, with_global: bool, most: int, at: datetime
) -> Iterator[Memory]:
    """Yield the memories of a project that may be shown, most useful first.

    Args:
        store: The store of the memories.
        project: The project.
        with_global: Whether to include global memories.
        most: The wanted number; a few more may come.
        at: The current time.
    """
    scope = None if with_global else ScopeKind.PROJECT
    pinned = store.list(project=project, scope=scope, pinned=True, limit=_MOST_LOOKED_AT)
    yielded: set[str] = set()
    categories = list(dict.fromkeys(heading.category for heading in HEADINGS))
    batches = [pinned]
    while len(yielded) < most and batches:
        found = [memory for memory in batches.pop() if memory.id not in yielded and may_be_shown(memory, at=at)]
        for memory in sorted(found, key=_usefulness):
            yielded.add(memory.id)
            yield memory
        if categories:
            batches.append(store.list(project=project, scope=scope, category=categories.pop(0), limit=_MOST_LOOKED_AT))


def body_of(
    memories: Iterable[Memory],
    *,
    max_lines: int,
    kept: Sequence[KeptBullet] = (),
    before: Mapping[str, str] = _NOTHING,
    later: Mapping[str, str] = _NOTHING,
) -> Body:
    """Render the managed part of a file.

    Args:
        memories: The memories that may be shown, most useful first.
        max_lines: Maximum number of lines, including the two marks; kept bullets are written even if they exceed it.
        kept: Bullets that stay as they are.
        before: The statement that a memory replaced, by its id.
        later: What the user said later about a memory, by its id.
    """
    room = max_lines - _MARKS - sum(len(bullet.lines) for bullet in kept)
    groups: dict[Heading, list[Memory]] = {}
    for bullet in kept:
        groups.setdefault(bullet.heading, [])
    room -= _LINES_OF_A_HEADING * len(groups)
    taken = {bullet.id for bullet in kept}
    for memory in memories:
        heading = heading_of(memory)
        if heading is None or memory.id in taken or not render_text(memory.content).text:
            continue
        cost = 1 if heading in groups else 1 + _LINES_OF_A_HEADING
        if cost <= room:
            room -= cost
            groups.setdefault(heading, []).append(memory)
    return _render(groups, kept, before, later)


def _render(
    groups: dict[Heading, list[Memory]],
    kept: Sequence[KeptBullet],
    before: Mapping[str, str],
    later: Mapping[str, str],
) -> Body:
    names = _names([memory.id for group in groups.values() for memory in group])
    lines: list[str] = []
    ids: list[str] = []
    for heading in sorted(groups, key=RANK.__getitem__):
        lines += ["", heading.line]
        for memory in groups[heading]:
            note = render_note(memory.time.date(), before.get(memory.id, ""), later.get(memory.id, ""))
            lines.append(bullet_line(render_text(memory.content), names[memory.id], heading, note))
            ids.append(memory.id)
        for bullet in kept:
            if bullet.heading is heading:
                lines += bullet.lines
                ids += [bullet.id] if bullet.id else []
    return Body(tuple(lines), tuple(ids))


def _names(ids: Sequence[str]) -> dict[str, str]:
    """Return the name of each memory in its mark: the short id, or the whole id if two short ids are equal."""
    times = Counter(short_id(one) for one in ids)
    return {one: short_id(one) if times[short_id(one)] == 1 else one for one in ids}


def _usefulness(memory: Memory) -> tuple[int, int, float, str]:
    heading = heading_of(memory)
    rank = len(HEADINGS) if heading is None else RANK[heading]
    return rank, -((memory.uses.bit_length() + 1) // 2), -memory.updated_at.timestamp(), memory.id
