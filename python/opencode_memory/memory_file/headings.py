"""The headings of the managed part, in their order: the most harmful to lose come first.

Each heading has a letter, which is part of the mark of every bullet below it. A moved bullet can therefore be told from
a memory whose category changed meanwhile. The letter of a heading never changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from opencode_memory.models import Category, Memory
from opencode_memory.notes.categories import DEFAULT, guess_category


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the managed part.

    Attributes:
        letter: Its letter in marks.
        title: Its text.
        category: Category of the memories below it.
        is_confirmed: Whether the user has confirmed the memories below it; separates two headings of one category.
    """

    letter: str
    title: str
    category: Category
    is_confirmed: bool = True

    @property
    def line(self) -> str:
        """The heading as a line of Markdown."""
        return f"## {self.title}"


HEADINGS: Final = (
    Heading("d", "Directives", Category.DIRECTIVE),
    Heading("u", "Directives noted by agents, not confirmed", Category.DIRECTIVE, is_confirmed=False),
    Heading("c", "Conventions", Category.CONVENTION),
    Heading("p", "Preferences", Category.PREFERENCE),
    Heading("e", "Decisions", Category.DECISION),
    Heading("r", "Procedures", Category.PROCEDURE),
    Heading("s", "Solutions", Category.SOLUTION),
    Heading("b", "Open blockers", Category.BLOCKER),
    Heading("f", "Facts", Category.FACT),
    Heading("x", "Context", Category.CONTEXT),
    Heading("l", "Plans", Category.PLAN),
    Heading("i", "Ideas", Category.IDEA),
    Heading("v", "Events", Category.EVENT),
)
"""Every heading; conversations have none, for they are never shown."""

BY_LETTER: Final = {heading.letter: heading for heading in HEADINGS}
RANK: Final = {heading: rank for rank, heading in enumerate(HEADINGS)}
OF_CATEGORY: Final = {heading.category: heading for heading in reversed(HEADINGS)}
"""The heading of a category; of directives, the confirmed one."""

PLAIN: Final = OF_CATEGORY[Category.FACT]
"""The heading of what stands below no heading that says a category."""

_LINE: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*")
_BY_NAME: Final = {
    **{heading.category.value: heading for heading in reversed(HEADINGS)},
    **{f"{heading.category.value}s": heading for heading in reversed(HEADINGS)},
    **{heading.title.lower(): heading for heading in HEADINGS},
}


def heading_of(memory: Memory) -> Heading | None:
    """Return the heading of a memory; None for a memory that is never shown."""
    if memory.category is Category.DIRECTIVE:
        return BY_LETTER["d" if memory.is_confirmed else "u"]
    if memory.category is Category.BLOCKER and memory.is_resolved:
        return None
    return OF_CATEGORY.get(memory.category)


def title_of(line: str) -> str | None:
    """Return the title of a line that is a heading of any level; None for other lines.

    >>> title_of("### Decisions ##"), title_of("#pragma once")
    ('Decisions', None)
    """
    match = _LINE.fullmatch(line)
    return None if match is None else match["title"] or ""


def heading_named(title: str) -> Heading | None:
    """Return the heading that a title stands for, as people write it; None when it says no category.

    >>> heading_named("decision").title, heading_named("Coding style").title, heading_named("Testing")
    ('Decisions', 'Conventions', None)
    """
    name = " ".join(title.lower().split()).rstrip(":")
    if name in _BY_NAME:
        return _BY_NAME[name]
    category = guess_category(PurePosixPath("-"), [title])
    return None if category is DEFAULT else OF_CATEGORY[category]
