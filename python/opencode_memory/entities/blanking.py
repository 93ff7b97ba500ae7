"""Splits a text into the parts in which each kind of entity is searched.

Each part has the length of the text, so that positions can be compared; other characters are overwritten. Fences are
recognised in lists and quotes too; an unclosed fence runs to the end, as in CommonMark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.entities import urls

_FENCE: Final = re.compile(r"[\s>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END: Final = re.compile(r"[\s>]*(?P<fence>`{3,}|~{3,})\s*")
_ELEMENT: Final = re.compile(r"<(?P<end>/?)(?P<tag>style|script|pre)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>\n]*)?/?>")
_BACKTICKS: Final = re.compile(r"`+|\n[ \t\r]*(?=\n)")
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_./-]*[!#&@][0-9a-fA-F]+|[0-9a-fA-F]{7,40}")
_NOT_LINE_END: Final = re.compile(r"[^\n]")

# Code is overwritten with this character, so that text touching code is not taken for a reference: `x`!12.
_CODE: Final = "`"
# Tags are overwritten with this one, so that the text between them is searched, and <folder>/app.py is not.
_TAG_END: Final = ">"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A text in the parts that are searched.

    Attributes:
        prose: Without addresses and code, but with code in a line that may be one reference.
        spoken: Without addresses and code.
        lines: Without addresses and fenced code.
        addresses: Addresses by place, without those that are only a piece of some code.
        quoted: Code in lines, by the place of its first character.
    """

    prose: str
    spoken: str
    lines: str
    addresses: tuple[tuple[int, str], ...]
    quoted: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Code:
    """Code in a line: its span with the backticks, and its content without the blanks around it."""

    span: Span
    place: int
    content: str

    @property
    def outside(self) -> tuple[Span, Span]:
        """The spans of its backticks and blanks."""
        return (self.span[0], self.place), (self.place + len(self.content), self.span[1])


def read(text: str) -> Parts:
    """Split a text into parts."""
    text = _blank(text, _fences(text))
    text = _blank(text, _elements(text))
    code = list(_code(text))
    quoted = {piece.place: piece.content for piece in code}
    addresses = list(urls.locate(text))
    whole = _blank(text, (piece.span for piece in code), _CODE)
    shown = tuple((place, url) for place, url in addresses if whole[place] != _CODE or quoted.get(place) == url)
    lines = _blank(text, ((place, place + len(url)) for place, url in addresses))
    lines = _blank(lines, (match.span() for match in _TAG.finditer(lines)), _TAG_END)
    spoken = _blank(lines, (piece.span for piece in code), _CODE)
    references = [piece for piece in code if _REFERENCE.fullmatch(piece.content)]
    others = [piece.span for piece in code if not _REFERENCE.fullmatch(piece.content)]
    prose = _blank(lines, others, _CODE)
    prose = _blank(prose, (span for piece in references for span in piece.outside))
    return Parts(prose=prose, spoken=spoken, lines=lines, addresses=shown, quoted=quoted)


def _blank(text: str, spans: Iterable[Span], filler: str = " ") -> str:
    """Overwrite spans, which are in order and do not overlap, but for the ends of lines."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += text[position:start], _NOT_LINE_END.sub(filler, text[start:end])
        position = end
    return "".join((*pieces, text[position:]))


def _fences(text: str) -> Iterator[Span]:
    """Find fenced code, with its fences."""
    fence = ""  # The fence that opened the current code.
    start = position = 0
    for line in text.split("\n"):
        end = position + len(line)
        if fence:
            closing = _FENCE_END.fullmatch(line)
            if closing and closing["fence"].startswith(fence):
                yield start, end
                fence = ""
        elif opening := _FENCE.match(line):
            fence, start = opening["fence"], position
        position = end + 1
    if fence:
        yield start, len(text)


def _elements(text: str) -> Iterator[Span]:
    """Find HTML elements that hold code; an unclosed one is only mentioned."""
    opened: re.Match[str] | None = None
    for match in _ELEMENT.finditer(text):
        if opened is None:
            opened = None if match["end"] else match
        elif match["end"] and match["tag"].lower() == opened["tag"].lower():
            yield opened.start(), match.start()
            opened = None


def _code(text: str) -> Iterator[_Code]:
    """Find inline code: the text between two runs of equally many backticks in one paragraph."""
    runs: list[Span] = []
    for match in _BACKTICKS.finditer(text):
        if match[0].startswith("\n"):
            yield from _pair_runs(text, runs)
            runs = []
        else:
            runs.append(match.span())
    yield from _pair_runs(text, runs)


def _pair_runs(text: str, runs: Sequence[Span]) -> Iterator[_Code]:
    partners: list[int | None] = []
    nearest: dict[int, int] = {}
    # From the end, so that each run finds its partner without a search.
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        partners.append(nearest.get(end - start))
        nearest[end - start] = number
    partners.reverse()
    number = 0
    while number < len(runs):
        partner = partners[number]
        if partner is not None:
            start, end = runs[number][1], runs[partner][0]
            inside = text[start:end]
            place = start + len(inside) - len(inside.lstrip())
            yield _Code((runs[number][0], runs[partner][1]), place, inside.strip())
            number = partner
        number += 1
