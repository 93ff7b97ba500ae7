"""Which part of a text is rarest in a store: what somebody asks with who remembers little else of it.

Pure counting over texts that are given; knows no store. Terms are the engine's own, so that rare here is rare there.
How rare a term is comes from the texts that were added, for the engine keeps the statistics of its index to itself.
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
    """In how many of the texts that were added each term occurs."""

    def __init__(self) -> None:
        self._texts = 0
        self._with_term: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count a text."""
        self._texts += 1
        self._with_term.update(_terms(text))

    def score(self, word: str) -> float:
        """Return how rare a word is by its rarest term; 0 when it is none to search for (a stop word, punctuation).

        The formula is BM25's inverse document frequency, ``ln(1 + (N - n + 0.5) / (n + 0.5))``, see Robertson and
        Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
        """
        counts = [self._with_term[term] for term in _terms(word)]
        if not counts:
            return 0.0
        fewest = min(counts)
        return math.log(1 + (self._texts - fewest + 0.5) / (fewest + 0.5))


def find_rarest_part(text: str, rarity: Rarity) -> str | None:
    """Return the few consecutive words of a text that are rarest together.

    Args:
        text: One of the texts that were counted.
        rarity: How rare words are.

    Returns:
        At most ``MOST_WORDS`` words and ``MOST_CHARACTERS`` characters, on one line, without words at either end that
        nothing is searched for by; the earliest part of equals. None when there is no word to search for.
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
            # Only a greater weight wins: a word that adds nothing lengthens no part, and equals leave the earlier.
            if weight > heaviest and rarities[words[first][0]] > 0:
                best, heaviest = text[words[first].start() : words[last].end()], weight
    return None if best is None else " ".join(best.split())


def _terms(text: str) -> set[str]:
    prose, identifiers = terms(text)
    return {*prose, *identifiers}
