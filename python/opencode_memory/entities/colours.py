"""Recognises colours such as ``#123``. Six or eight digits are one unless called an issue; fewer only among styles."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.entities.around import before, words_before
from opencode_memory.entities.vocabulary import COLOUR_WORDS, ISSUE_WORDS, JOINING

_SOMETIMES: Final = frozenset({3, 4})
_USUALLY: Final = frozenset({6, 8})

# A declaration that is still open where the colour stands: `border: 1px solid`, `--brand:`, `$brand:`, `fill="`.
_DECLARATION: Final = re.compile(
    r"(?:(?:--|\$)[\w-]+\s?:|(?:\b(?:background|bg|border|fill|outline|stroke)|colou?r|shadow)[\w-]*\s?[:=])[^:;={}]*$",
    re.IGNORECASE,
)
_FUNCTION: Final = re.compile(r"(?:gradient|rgba?|darken|lighten|mix|fade|var)\([^()]*$", re.IGNORECASE)


def is_colour(text: str, position: int, digits: str) -> bool:
    """Return whether the ``#`` at a position begins a colour.

    Args:
        text: The whole text.
        position: Of the ``#``.
        digits: The characters after it.
    """
    if len(digits) not in _SOMETIMES | _USUALLY:
        return False
    words = words_before(text, position, 2)
    if words and words[0] in ISSUE_WORDS:
        return False
    if len(digits) in _USUALLY:
        return True
    sentence = before(text, position)
    if _DECLARATION.search(sentence) or _FUNCTION.search(sentence):
        return True
    # "colour #123", "background is #123", but not "the border in #123".
    subject = words[1:] if words and words[0] in JOINING else words[:1]
    return not COLOUR_WORDS.isdisjoint(subject)
