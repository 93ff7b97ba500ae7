"""Lines of the project brief: a memory in full on one line, or its first words as a headline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from opencode_memory.context.block import escape, origin
from opencode_memory.context.entry import Entry
from opencode_memory.models import Category, Memory
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line
from opencode_memory.text.repetition import Due, find_due

ID_CHARACTERS: Final = 6
"""Of an id in a headline; ``get_memory`` takes as few. A longer id costs as much as two words."""
SHORT_WORDS: Final = 6
LONG_WORDS: Final = 12
FULL_BYTES: Final = 400
"""A longer memory is first cut, so that others get a line, too. A directive is not."""
LONG_BYTES: Final = 1_200
"""A longer memory is never shown in full."""
_CUT_BYTES: Final = 200
"""Of a memory that governs work and is too long for a line."""
_BEFORE_BYTES: Final = 80
_LATER_BYTES: Final = 160
_MARKS: Final = re.compile(r"^(?:#{1,6}\s+|[-*]\s+|>\s+)+")
_HEADING: Final = re.compile(r"#{1,6}\s")
_ENDS: Final = (".", ":", "!", "?")
_ARTICLE: Final = frozenset({"the", "a", "an"})
_AGED: Final = frozenset({Category.DECISION, Category.BLOCKER, Category.PLAN})
"""Categories whose statements become outdated, so that a reader needs their age."""


def tag(memory: Memory) -> str:
    """Return the end of an id, by which a headline names its memory."""
    return memory.id[-ID_CHARACTERS:]


def format_full(entry: Entry, *, at: datetime, most_bytes: int = FULL_BYTES) -> str | None:
    """Format the memory of an entry in full on one line; None if it is too long for a line.

    Args:
        entry: The entry.
        at: The current time.
        most_bytes: Greatest length of the text. A directive may have ``LONG_BYTES``.
    """
    memory = entry.memory
    text = _read_line(memory)
    if len(text.encode()) > (LONG_BYTES if memory.category is Category.DIRECTIVE else most_bytes):
        return None
    # The reader resolves a blocker, and ends a reminder or a review, by its id.
    has_id = memory.category is Category.BLOCKER or _find_due(memory, at) is not None
    return _format(entry, text, f"id {tag(memory)}" if has_id else "", at)


def format_cut(entry: Entry, *, at: datetime) -> str:
    """Format the beginning of a long memory on one line, with its id, by which ``get_memory`` shows the rest."""
    memory = entry.memory
    return _format(entry, one_line(_read_line(memory), _CUT_BYTES), f"cut, id {tag(memory)}", at)


def is_quoted_in_full(memory: Memory) -> bool:
    """Return whether a line that quotes a memory, as what was said later, holds all of its text."""
    text = escape(memory.content)
    return one_line(text, _LATER_BYTES) == one_line(text, len(text.encode()))


def _format(entry: Entry, text: str, id_: str, at: datetime) -> str:
    memory, before, later = entry.memory, entry.before, entry.later
    due = _find_due(memory, at)
    said = "" if later is None else f'"{one_line(escape(later.content), _LATER_BYTES)}"'
    notes = [
        "in all projects" if entry.is_aged and memory.project is None else "",
        age(memory.time, at=at) if entry.is_aged or before or memory.category in _AGED else "",
        "" if memory.is_confirmed else origin(memory),
        "" if due is None else ", ".join(filter(None, (f"due {age(due.at, at=at)}", due.waiting))),
        id_,
        "" if later is None else f"said later, {age(later.time, at=at)}: {said}",
        f"before: {one_line(escape(before[0].content), _BEFORE_BYTES)}" if before else "",
    ]
    listed = "; ".join(note for note in notes if note)
    return f"- {text}" + (f" ({listed})" if listed else "")


def _read_line(memory: Memory) -> str:
    text = "\n".join(_mark_headings(escape(memory.content)))
    return _MARKS.sub("", one_line(text, 10 * LONG_BYTES))


def _mark_headings(text: str) -> Iterator[str]:
    """Yield the lines of a text, with a colon behind a heading that has text below it.

    On one line, nothing else tells them apart: "# PDF", "Invoices are rendered by …".
    """
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    for line in lines[:-1]:
        yield f"{line}:" if _HEADING.match(line) and not line.endswith(_ENDS) else line
    yield from lines[-1:]


def _find_due(memory: Memory, at: datetime) -> Due | None:
    """Return when the reminder or the review of a memory was due, if it is."""
    times = ((memory.remind_at, memory.remind_every), (memory.review_after, memory.review_every))
    return next((find_due(due, every, at=at) for due, every in times if due is not None and due <= at), None)


def format_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Format texts that are no memories, one line each."""
    return tuple(f"- {one_line(escape(text), FULL_BYTES)}" for text in texts)


def format_excerpt(excerpt: str, memory: Memory, *, at: datetime) -> str:
    """Format a part of a memory on one line, with its age."""
    return f"- {one_line(escape(excerpt), FULL_BYTES)} ({age(memory.time, at=at)})"


def format_headline(memory: Memory, *, most_words: int) -> str:
    """Format the first words of a memory, after the end of its id.

    Articles are left out, because a headline is read without them.

    >>> _shorten("The cache of the index is a file that nobody reads", 5)
    'cache of index is file …'
    """
    return f"{tag(memory)} {_shorten(_read_line(memory), most_words)}"


def _shorten(text: str, most_words: int) -> str:
    words = [word for word in text.split() if word.lower() not in _ARTICLE]
    if len(words) <= most_words:
        return " ".join(words)
    return f"{' '.join(words[:most_words]).rstrip(',;:.')} …"
