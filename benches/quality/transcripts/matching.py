"""Decides whether a stored memory says the same as a label. All comparisons ignore case and punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SHARED_WORDS: Final = 0.7
"""Minimum share of the shorter text's words that both texts contain."""

_NO_WORD: Final = re.compile(r"\W+")


def norm(text: str) -> str:
    """Return a text in lower case, with one space between its words."""
    return _NO_WORD.sub(" ", text.lower()).strip()


def like(text: str, other: str) -> bool:
    """Return whether two texts share most words of the shorter one."""
    words, others = set(norm(text).split()), set(norm(other).split())
    if not words or not others:
        return False
    return len(words & others) / min(len(words), len(others)) >= SHARED_WORDS


def holds(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text contains one of the phrases."""
    normal = norm(text)
    return any(norm(phrase) in normal for phrase in phrases)
