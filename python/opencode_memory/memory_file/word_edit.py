"""Applies the changed words of a bullet to the whole text of its memory.

A bullet shows a text on one line and without its end. If the words that the user changed have one possible place in the
text, its line breaks, lists, code and hidden end stay. Otherwise nothing is applied, because a guess could lose text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from opencode_memory.memory_file.bullet_text import ELLIPSIS, one_line, plain_line, render_text, show_line, unescape

_MOST_WORDS: Final = 1_000
"""Words of a bullet that are compared; the comparison of more would take long."""
_WORD: Final = re.compile(r"\S+")
_FENCES: Final = ("```", "~~~")
_STARTS_BLOCK: Final = re.compile(r"[-*+>|]|\d{1,9}[.)]|#{1,6}|(?:`{3}|~{3}).*")
"""A word at the beginning of a line that starts a list, a heading, a quote, a table or code."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A visible word of a text: its position, and the number of its line."""

    text: str
    start: int
    end: int
    line: int

    @property
    def is_fence(self) -> bool:
        return self.text.startswith(_FENCES)


@dataclass(frozen=True, slots=True)
class _Hunk:
    """A difference between two lists of words: ``start`` to ``end`` of the first one became ``words``."""

    start: int
    end: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Splice:
    """A change of a text: its characters from ``start`` to ``end`` become ``text``."""

    start: int
    end: int
    text: str


def apply_words(content: str, edited: str) -> str | None:
    r"""Return a text with the changed words of its bullet; None if a changed word has no place, or several.

    Args:
        content: The text of the memory.
        edited: The text of the edited bullet, not escaped.

    >>> apply_words("Release:\n- run `make check`\n- tell Ann", "Release: - run `make test` - tell Ann")
    'Release:\n- run `make test`\n- tell Ann'
    >>> apply_words("Use pnpm\nDeploy late", "Use pnpm always Deploy late") is None
    True
    """
    shown = render_text(content)
    before = unescape(shown.text).split()
    after = one_line(edited).split()
    if shown.is_shortened:
        if not after or after[-1] != ELLIPSIS:
            return None
        before, after = before[:-1], after[:-1]
    if len(after) > _MOST_WORDS:
        return None
    words = _read_words(content)
    places = {**_find_places(before, words), len(before): len(words)}
    splices: list[_Splice] = []
    for hunk in _compare(before, after):
        if shown.is_shortened and hunk.end == len(before):
            return None  # New words at the cut may belong in front of the hidden end, or behind it.
        found = {_splice(content, words, places, one) for one in _slide(hunk, before)}
        lines = {splice for splice in found if splice is not None and _is_line(splice, content)}
        [only] = lines if len(lines) == 1 else found if len(found) == 1 else [None]
        if only is None:
            return None
        splices.append(only)
    result = content
    for splice in reversed(splices):
        result = result[: splice.start] + splice.text + result[splice.end :]
    said = show_line(result)
    wanted = " ".join(after)
    return result if said == wanted or (shown.is_shortened and said.startswith(wanted)) else None


def _read_words(content: str) -> list[_Word]:
    words: list[_Word] = []
    offset = 0
    for number, line in enumerate(content.splitlines(keepends=True)):
        found = ((plain_line(match[0]), match) for match in _WORD.finditer(line))
        words += [_Word(text, offset + match.start(), offset + match.end(), number) for text, match in found if text]
        offset += len(line)
    return words


def _find_places(shown: Sequence[str], words: Sequence[_Word]) -> Mapping[int, int]:
    """Return the word of the text that each shown word is; the third person shows some others."""
    texts = [word.text for word in words]
    if texts[: len(shown)] == list(shown):
        return {at: at for at in range(len(shown))}
    matcher = SequenceMatcher(None, shown, texts[: 2 * len(shown) + 2], autojunk=False)
    return {block.a + at: block.b + at for block in matcher.get_matching_blocks() for at in range(block.size)}


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[_Hunk]:
    for tag, start, end, since, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Hunk(start, end, tuple(after[since:until]))


def _slide(hunk: _Hunk, before: Sequence[str]) -> Iterator[_Hunk]:
    """Yield the positions of an insertion or a deletion that give the same words: of "- a - b", "- b" or "a -"."""
    yield hunk
    if hunk.words and hunk.start != hunk.end:
        return
    for step in (-1, 1):
        moved = _shift(hunk, before, step)
        while moved is not None:
            yield moved
            moved = _shift(moved, before, step)


def _shift(hunk: _Hunk, before: Sequence[str], step: int) -> _Hunk | None:
    start, end, words = hunk.start, hunk.end, hunk.words
    if step < 0:
        if start == 0 or before[start - 1] != (words[-1] if words else before[end - 1]):
            return None
        return _Hunk(start - 1, end - 1, (before[start - 1], *words[:-1]) if words else ())
    if end == len(before) or before[end] != (words[0] if words else before[start]):
        return None
    return _Hunk(start + 1, end + 1, (*words[1:], before[end]) if words else ())


def _splice(content: str, words: Sequence[_Word], places: Mapping[int, int], hunk: _Hunk) -> _Splice | None:
    """Return the change of the text; None if its place is not certain."""
    if hunk.start == hunk.end:
        return _insertion(words, places, hunk)
    found = [places.get(at) for at in range(hunk.start, hunk.end)]
    first, last = found[0], found[-1]
    if first is None or last is None or found != list(range(first, last + 1)):
        return None
    start, end = words[first], words[last]
    if hunk.words:
        return None if start.line != end.line else _Splice(start.start, end.end, " ".join(hunk.words))
    if any(word.is_fence for word in words[first : last + 1]):
        return None
    opens = first == 0 or words[first - 1].line != start.line
    closes = last + 1 == len(words) or words[last + 1].line != end.line
    if opens and closes:
        return _without_lines(content, start, end)
    if start.line != end.line:
        return None
    if last + 1 < len(words) and not closes:
        return _Splice(start.start, words[last + 1].start, "")
    return _Splice(words[first - 1].end, end.end, "")


def _without_lines(content: str, start: _Word, end: _Word) -> _Splice:
    """Remove whole lines, with one line break."""
    lines = content.splitlines(keepends=True)
    begin = sum(map(len, lines[: start.line]))
    until = sum(map(len, lines[: end.line + 1]))
    if until == len(content) and begin and content.splitlines()[end.line] == lines[end.line]:
        begin -= len(lines[start.line - 1]) - len(lines[start.line - 1].splitlines()[0])
    return _Splice(begin, until, "")


def _is_line(splice: _Splice, content: str) -> bool:
    """Return whether a change removes whole lines."""
    removed = content[splice.start : splice.end]
    return not splice.text and removed.splitlines(keepends=True) != removed.splitlines()


def _insertion(words: Sequence[_Word], places: Mapping[int, int], hunk: _Hunk) -> _Splice | None:
    text = " ".join(hunk.words)
    before = places.get(hunk.start - 1) if hunk.start else -1
    after = places.get(hunk.start)
    if before is None or after is None or after != before + 1:
        return None
    previous = words[before] if before >= 0 else None
    following = words[after] if after < len(words) else None
    if previous is not None and following is not None and previous.line == following.line:
        return _Splice(previous.end, previous.end, f" {text}")
    if previous is None:
        is_block = following is None or _STARTS_BLOCK.fullmatch(following.text)
        return None if following is None or is_block else _Splice(following.start, following.start, f"{text} ")
    # Between two lines, only a line that begins with a mark cannot begin with the new words instead.
    is_certain = following is None or _STARTS_BLOCK.fullmatch(following.text)
    opens_line = before == 0 or words[before - 1].line != previous.line
    if not is_certain or _STARTS_BLOCK.fullmatch(hunk.words[0]) or (previous.is_fence and opens_line):
        return None
    return _Splice(previous.end, previous.end, f" {text}")
