"""Splits a Markdown text into sections at its headings, without losing a character.

``split`` only decides where to cut: the preface and the sections joined again are the text. It follows CommonMark as
far as a cut depends on it: fences, HTML blocks, setext headings, thematic breaks.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.text.front_matter import FrontMatter, read_front_matter

_BOM: Final = "\ufeff"
_ATX: Final = re.compile(r" {0,3}(?P<marks>#{1,6})(?=[ \t]|$)")
_SETEXT: Final = re.compile(r" {0,3}(?P<line>=+|-+)[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_THEMATIC_BREAK: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_NOT_A_PARAGRAPH: Final = re.compile(r" {0,3}(?:[-+*][ \t]|\d{1,9}[.)][ \t]|[>|<])")
_INDENTED_CODE: Final = re.compile(r" {4}| {0,3}\t")
_RAW_HTML: Final = re.compile(r" {0,3}<(?P<tag>!--|script|pre|style|textarea)(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The lines of one heading.

    Attributes:
        path: Titles from the outermost heading to this one; empty before the first heading. Equal headings, and the
            parts of a section that was too long, share a path.
        line: Line of the file, from 1, that holds the section's first character that is not blank.
        text: The lines themselves, with their own line ends.
        body: The text after the headings that it begins with.
    """

    path: tuple[str, ...]
    line: int
    text: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that was split.

    Attributes:
        preface: The text before the first section: byte order mark and front matter, verbatim.
        front_matter: The parsed front matter.
        sections: In the order of the text.
    """

    preface: str
    front_matter: FrontMatter
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The original text."""
        return self.preface + "".join(section.text for section in self.sections)


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    level: int
    title: str


def split(text: str, *, limit: int) -> Document:
    """Split a text at its headings.

    A heading without text of its own stays with the deeper heading that follows it, because alone it has no content.

    Args:
        text: Markdown, as decoded from the file, with its line ends.
        limit: Maximum number of characters of a section; a longer one is split between paragraphs, lines, or anywhere.
    """
    marked = text.startswith(_BOM)
    front_matter, body = read_front_matter(text.removeprefix(_BOM))
    lines = list(io.StringIO(body, newline=""))
    cuts = list(_cuts(lines))
    if not body.strip():
        # A file of only front matter is a section, too.
        front_matter, lines = FrontMatter(), list(io.StringIO(text.removeprefix(_BOM), newline=""))
        cuts = [(0, 0, len(lines), ())]
    if not "".join(lines).strip():
        return Document(preface=text, front_matter=front_matter, sections=())
    preface = _BOM * marked + front_matter.raw
    sections = tuple(_sections(lines, cuts, first_line=1 + preface.count("\n"), limit=limit))
    return Document(preface=preface, front_matter=front_matter, sections=sections)


def _sections(
    lines: Sequence[str], cuts: Iterable[tuple[int, int, int, tuple[str, ...]]], *, first_line: int, limit: int
) -> Iterator[Section]:
    for start, body, end, path in cuts:
        line = first_line + start
        left = len("".join(lines[start:body]))
        for text in pieces("".join(lines[start:end]), limit):
            first = line + text.count("\n", 0, len(text) - len(text.lstrip()))
            yield Section(path=path, line=first, text=text, body=text[left:])
            line += text.count("\n")
            left = max(0, left - len(text))


def _cuts(lines: Sequence[str]) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Yield (first line, first line of the body, line after the last, path) so that the ranges cover all lines."""
    headings = list(_headings(lines))
    ends = [*(heading.start for heading in headings), len(lines)]
    start = 0
    if "".join(lines[: ends[0]]).strip():
        yield 0, 0, ends[0], ()
        start = ends[0]
    above: list[_Heading] = []
    for number, heading in enumerate(headings):
        above = [*(outer for outer in above if outer.level < heading.level), heading]
        end = ends[number + 1]
        followed_by_deeper = number + 1 < len(headings) and headings[number + 1].level > heading.level
        if not followed_by_deeper or "".join(lines[heading.end : end]).strip():
            yield start, heading.end, end, tuple(outer.title for outer in above)
            start = end


def _headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Find the headings; skip lines in code and raw HTML."""
    until: re.Pattern[str] | None = None  # The end of the current fence or raw HTML.
    paragraph: int | None = None  # First line of the paragraph that we are in.
    other = False  # In a list, a quote, a table or HTML, whose lines cannot become a setext heading.
    for number, whole in enumerate(lines):
        line = whole.rstrip("\r\n")
        if until is not None:
            until = None if until.search(line) else until
        elif not line.strip():
            paragraph, other = None, False
        elif (end := _end_of_block(line)) is not None:
            # Raw HTML may end on its first line. A fence cannot, because its end is at the start of a line.
            paragraph, until = None, None if end.search(line, 1) else end
        elif atx := _ATX.match(line):
            yield _Heading(number, number + 1, len(atx["marks"]), _title(_without_closing_marks(line[atx.end() :])))
            paragraph, other = None, False
        elif paragraph is not None and (setext := _SETEXT.fullmatch(line)):
            title = _title(" ".join(lines[paragraph:number]))
            yield _Heading(paragraph, number + 1, 1 if setext["line"].startswith("=") else 2, title)
            paragraph = None
        elif _THEMATIC_BREAK.fullmatch(line):
            paragraph = None
        elif paragraph is None and not other and not _INDENTED_CODE.match(line):
            other = _NOT_A_PARAGRAPH.match(line) is not None
            paragraph = None if other else number


def _end_of_block(line: str) -> re.Pattern[str] | None:
    """Return the end of the code or raw HTML that a line opens; None if it opens none."""
    if opened := _FENCE.match(line):
        fence = opened["fence"]
        return re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    if opened := _RAW_HTML.match(line):
        return re.compile("-->" if opened["tag"] == "!--" else f"</{opened['tag']}>", re.IGNORECASE)
    return None


def _without_closing_marks(text: str) -> str:
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    return bare if bare.endswith((" ", "\t")) or not bare else text


def _title(text: str) -> str:
    return " ".join(text.split())


def pieces(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most ``limit`` characters, each at the last boundary after some text."""
    while len(text) > limit:
        cut = limit
        for boundary in ("\n\n", "\n\r\n", "\n", " "):
            # The text before the boundary must not be blank; otherwise a piece would be blank.
            found = text.rfind(boundary, 0, limit)
            if found > 0 and text[:found].strip():
                cut = found + len(boundary)
                break
        yield text[:cut]
        text = text[cut:]
    yield text
