"""The characters around a match, in a window of bounded width, so that no text makes a search slow."""

from __future__ import annotations

import re
from typing import Final

_FIRST_WITHOUT_SPACES: Final = "\u2e80"
_WORDS: Final = re.compile(r"[^\W\d_]+")
_WINDOW: Final = 64
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|\n")


def is_word(character: str) -> bool:
    """Return whether a character continues a word; false for the empty text.

    Scripts without spaces (from U+2E80 on) end a reference like punctuation does.
    """
    return (character.isalnum() or character == "_") and character < _FIRST_WITHOUT_SPACES


def before(text: str, position: int) -> str:
    """Return the text before a position in its sentence and line, at most 64 characters."""
    window = text[max(0, position - _WINDOW) : position]
    return _SENTENCE_END.split(window)[-1]


def words_before(text: str, position: int, count: int) -> tuple[str, ...]:
    """Return the last words of the sentence before a position, in lower case, the nearest first."""
    return tuple(word.lower() for word in reversed(_WORDS.findall(before(text, position))[-count:]))
