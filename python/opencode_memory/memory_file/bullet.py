"""A bullet: one memory on one line, with a mark at its end by which an edit of it is understood.

The mark holds the memory's short id, the letter of the heading, and a digest of the text as it was written; a ``~``
says that the text was shortened. So a bullet tells by itself whether somebody changed it, however old the file is and
whatever became of the memory meanwhile: ``- Use pnpm <!-- m:9c1d7b2e p4f3a21 -->``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from opencode_memory.memory_file.bullet_text import Shown, digest, one_line, unescaped
from opencode_memory.memory_file.headings import BY_LETTER, Heading

_MARK: Final = re.compile(
    r"<!--\s*m:(?P<id>[0-9a-f-]{6,36})(?:\s+(?P<letter>[a-z])(?P<digest>[0-9a-f]{6})(?P<short>~)?)?\s*-->"
)
# A damaged mark is no text of anybody's.
_ANY_MARK: Final = re.compile(r"<!--\s*m:[^<>]*?-->")
_STARTS: Final = re.compile(r"(?P<indent>[ \t]*)[-*+](?:[ \t]+(?P<text>.*))?")
_RULE: Final = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_DEEPEST: Final = 3
"""Blanks before a bullet; with more of them it belongs to what stands above it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the mark of a bullet says.

    Attributes:
        id: Short id of the memory.
        heading: What the bullet was written under; None when the mark does not say it.
        digest: Digest of the text that was written; empty when the mark does not say it.
        is_shortened: Whether that text was shortened.
    """

    id: str
    heading: Heading | None
    digest: str
    is_shortened: bool


@dataclass(frozen=True, slots=True)
class Bullet:
    """A bullet as it stands in a file.

    Attributes:
        lines: Its lines, without their ends.
        text: What it shows, escaped, on one line.
        content: What it says; a bullet of several lines keeps them.
        mark: Its mark; None when it has none.
        heading: The heading that it stands under; None when there is none, or one that says no category.
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
        """The heading that the bullet was moved under; None when it stands where it was written."""
        if self.mark is None or self.mark.heading is None or self.heading is self.mark.heading:
            return None
        return self.heading


def bullet_line(text: Shown, id: str, heading: Heading) -> str:
    """Write a bullet.

    Args:
        text: The memory's text.
        id: Enough of the end of its id that no other bullet's fits.
        heading: What the bullet stands under.
    """
    short = "~" if text.is_shortened else ""
    return f"- {text.text} <!-- m:{id} {heading.letter}{digest(text.text)}{short} -->"


def starts_bullet(line: str, *, nested: bool = False) -> bool:
    """Say whether a line starts a bullet; with ``nested`` also one that is indented below another."""
    match = _STARTS.fullmatch(line)
    if match is None or _RULE.fullmatch(line):
        return False
    return nested or len(match["indent"].expandtabs(4)) <= _DEEPEST


def has_mark(line: str) -> bool:
    """Say whether a line carries the mark of a memory."""
    return _MARK.search(line) is not None


def read_bullet(lines: Sequence[str], heading: Heading | None) -> Bullet:
    """Read a bullet.

    Args:
        lines: Its lines; the first one starts it.
        heading: What it stands under.
    """
    start = _STARTS.fullmatch(lines[0])
    said = "\n".join(["" if start is None else start["text"] or "", *_dedented(lines[1:])])
    marks = list(_MARK.finditer(said))
    plain = "\n".join(line.rstrip() for line in _ANY_MARK.sub("", said).split("\n")).strip()
    # Who joins two bullets leaves two marks; the last one is where a mark belongs.
    mark = _mark(marks[-1]) if marks else None
    return Bullet(tuple(lines), one_line(plain), unescaped(plain), mark, heading)


def _mark(match: re.Match[str]) -> Mark:
    letter = match["letter"]
    return Mark(match["id"], BY_LETTER.get(letter or ""), match["digest"] or "", match["short"] is not None)


def _dedented(lines: Sequence[str]) -> list[str]:
    """Take off the indentation that all lines have in common."""
    return dedent("\n".join(lines)).split("\n") if lines else []
