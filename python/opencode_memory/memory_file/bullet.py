"""A bullet: one memory on one line, ending with a mark from which a later edit is recognised.

The mark holds the memory's short id, the letter of the heading, and a digest of the text as it was written; a ``~``
marks a shortened text. A bullet therefore tells by itself whether it was edited, however old the file is and whatever
happened to the memory meanwhile. Behind the mark stands a note, which is only displayed: the day of the memory, what
the user said later about it, and the statement before:
``- Use pnpm <!-- m:9c1d7b2e p4f3a21 --> *(2026-03-01; before: Use npm)*``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from opencode_memory.memory_file.bullet_text import Shown, digest, one_line, unescape
from opencode_memory.memory_file.headings import BY_LETTER, Heading

_MARK: Final = re.compile(
    r"<!--\s*m:(?P<id>[0-9a-f-]{6,36})(?:\s+(?P<letter>[a-z])(?P<digest>[0-9a-f]{6})(?P<short>~)?)?\s*-->"
)
_NOTE: Final = r"\*\(\d{4}-\d{2}-\d{2}(?:;\s+(?:said later|before):\s(?:(?!\)\*)[^\n]){0,600})?\)\*"
# A damaged mark does not belong to the text, and neither does the note behind a mark.
_ANY_MARK: Final = re.compile(rf"<!--\s*m:[^<>]*?-->(?:[ \t]*\n?[ \t]*{_NOTE})?")
_LAST_NOTE: Final = re.compile(rf"\s+{_NOTE}\Z")
_STARTS: Final = re.compile(r"(?P<indent>[ \t]*)[-*+](?:[ \t]+(?P<text>.*))?")
_RULE: Final = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_DEEPEST: Final = 3
"""Blanks before a bullet; with more of them it belongs to what stands above it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The content of a bullet's mark.

    Attributes:
        id: Short id of the memory.
        heading: The heading at the time of writing; None if the mark does not tell.
        digest: Digest of the written text; empty if the mark does not tell.
        is_shortened: Whether that text was shortened.
    """

    id: str
    heading: Heading | None
    digest: str
    is_shortened: bool


@dataclass(frozen=True, slots=True)
class Bullet:
    """A bullet in a file.

    Attributes:
        lines: Its lines, without line ends.
        text: Its visible text, escaped, on one line.
        content: Its text; a bullet of several lines keeps them.
        mark: Its mark; None if it has none.
        heading: Its heading; None if there is none, or one without a category.
    """

    lines: tuple[str, ...]
    text: str
    content: str
    mark: Mark | None
    heading: Heading | None

    @property
    def is_untouched(self) -> bool:
        """Whether the text is the one that was written together with the mark."""
        return self.mark is not None and self.mark.digest == digest(self.text)

    @property
    def moved_to(self) -> Heading | None:
        """The heading that the bullet was moved to; None if it was not moved."""
        if self.mark is None or self.mark.heading is None or self.heading is self.mark.heading:
            return None
        return self.heading


def bullet_line(text: Shown, id: str, heading: Heading, note: str = "") -> str:
    """Render a bullet.

    Args:
        text: The memory's text.
        id: The end of its id, long enough to be unique among the bullets.
        heading: The heading of the bullet.
        note: What stands behind the mark, from ``render_note``.
    """
    short = "~" if text.is_shortened else ""
    line = f"- {text.text} <!-- m:{id} {heading.letter}{digest(text.text)}{short} -->"
    return f"{line} {note}" if note else line


def without_note(text: str) -> str:
    """Return the text of a bullet whose mark was removed, without the note that stood behind the mark."""
    return _LAST_NOTE.sub("", text)


def starts_bullet(line: str, *, nested: bool = False) -> bool:
    """Return whether a line starts a bullet; with ``nested`` also a bullet that is indented below another."""
    match = _STARTS.fullmatch(line)
    if match is None or _RULE.fullmatch(line):
        return False
    return nested or len(match["indent"].expandtabs(4)) <= _DEEPEST


def has_mark(line: str) -> bool:
    """Return whether a line has the mark of a memory."""
    return _MARK.search(line) is not None


def read_bullet(lines: Sequence[str], heading: Heading | None) -> Bullet:
    """Parse a bullet.

    Args:
        lines: Its lines; the first one starts it.
        heading: Its heading.
    """
    start = _STARTS.fullmatch(lines[0])
    said = "\n".join(["" if start is None else start["text"] or "", *_dedent(lines[1:])])
    marks = list(_MARK.finditer(said))
    plain = "\n".join(line.rstrip() for line in _ANY_MARK.sub("", said).split("\n")).strip()
    # Joining two bullets leaves two marks; the last one is at the right place.
    mark = _mark(marks[-1]) if marks else None
    return Bullet(tuple(lines), one_line(plain), unescape(plain), mark, heading)


def _mark(match: re.Match[str]) -> Mark:
    letter = match["letter"]
    return Mark(match["id"], BY_LETTER.get(letter or ""), match["digest"] or "", match["short"] is not None)


def _dedent(lines: Sequence[str]) -> list[str]:
    """Remove the indentation that all lines have in common."""
    return dedent("\n".join(lines)).split("\n") if lines else []
