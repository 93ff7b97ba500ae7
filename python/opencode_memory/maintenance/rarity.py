"""Rarest words of a text within a store: a query such as a user types who remembers little of a memory.

The functions only count terms in given texts and do not access a store. The terms are the engine's, so that rarity
agrees with the search. The counts come from the added texts, because the engine does not expose its statistics.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from opencode_memory._core import terms

MOST_WORDS: Final = 4
MOST_CHARACTERS: Final = 60

# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
_UNSPACED: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]{{1,6}}|[^\s{_UNSPACED}]{{1,{MOST_CHARACTERS}}}")


class Rarity:
    """Counts in how many of the added texts each term occurs."""

    def __init__(self) -> None:
        self._texts = 0
        self._with_term: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count a text."""
        self._texts += 1
        self._with_term.update(_terms(text))

    def score(self, word: str) -> float:
        """Return the rarity of a word, which is that of its rarest term; 0 if it has no searchable term.

        The formula is BM25's inverse document frequency, ``ln(1 + (N - n + 0.5) / (n + 0.5))``, see Robertson and
        Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        """
        counts = [self._with_term[term] for term in _terms(word)]
        if not counts:
            return 0.0
        fewest = min(counts)
        return math.log(1 + (self._texts - fewest + 0.5) / (fewest + 0.5))


def find_rarest_part(text: str, rarity: Rarity) -> str | None:
    """Return the consecutive words of a text that are rarest together.

    Args:
        text: One of the counted texts.
        rarity: Rarity of words.

    Returns:
        At most ``MOST_WORDS`` words and ``MOST_CHARACTERS`` characters, on one line, without unsearchable words at
        either end; the first of equally rare parts. None if there is no searchable word.
    """
    words = list(_WORD.finditer(text))
    rarities = {word: rarity.score(word) for word in {match[0] for match in words}}
    best, heaviest = None, 0.0
    for first in range(len(words)):
        weight = 0.0
        seen: set[str] = set()
        for last in range(first, min(first + MOST_WORDS, len(words))):
            word = words[last][0]
            if words[last].end() - words[first].start() > MOST_CHARACTERS:
                break
            if word.casefold() not in seen:
                seen.add(word.casefold())
                weight += rarities[word]
            # Require a greater weight: a word that adds none does not extend a part, and the first of equals wins.
            if weight > heaviest and rarities[words[first][0]] > 0:
                best, heaviest = text[words[first].start() : words[last].end()], weight
    return None if best is None else " ".join(best.split())


def _terms(text: str) -> set[str]:
    prose, identifiers = terms(text)
    return {*prose, *identifiers}
