"""Recognises the language of a message among those that have cues."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.language import COMMON_WORDS as ENGLISH_WORDS
from opencode_memory.learning.extraction.languages.cues import Cues, read_cues

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MOST_READ: Final = 400
"""Words that are looked at."""
_LEAST_SHARE: Final = 0.2
"""Share of its commonest words, or of its letters, that a text must have."""


def recognise(text: str) -> Cues | None:
    """Return the cues of the language of a text; None if it is English or in a language without cues."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)[:_MOST_READ]]
    if not words:
        return None
    letters = "".join(words)
    # Japanese, which has Chinese letters too, comes before Chinese.
    for cues in read_cues().values():
        share = len(cues.letters.findall(letters)) / len(letters)
        if share >= _LEAST_SHARE:
            return cues
    counts = {code: sum(word in cues.words for word in words) for code, cues in read_cues().items()}
    best = max(counts, key=lambda code: counts[code])
    english = sum(word in ENGLISH_WORDS for word in words)
    others = max(english, *(count for code, count in counts.items() if code != best))
    is_clear = counts[best] > others and counts[best] >= _LEAST_SHARE * len(words)
    return read_cues()[best] if is_clear else None
