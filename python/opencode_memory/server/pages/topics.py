"""Topics of memories: which ones speak of the same, and what a topic is called.

Memories are grouped and placed by their vectors (``rust/core/src/map``). A topic is called by the words that its
memories have and others do not.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory._core import group_vectors
from opencode_memory.embedding.base import Vectors

_MOST_TOPICS: Final = 12
_WORDS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_][\w.-]{2,}")


@dataclass(frozen=True, slots=True)
class Topic:
    """Memories that speak of the same.

    Attributes:
        name: Its words, the most telling first; empty if it has none of its own, or if it is the only topic.
        members: The places of its memories in the given order, the most typical one first.
    """

    name: str
    members: tuple[int, ...]


def find_topics(texts: Sequence[str], vectors: Vectors) -> list[Topic]:
    """Group memories by meaning, the largest group first. The same memories give the same groups.

    Args:
        texts: The texts, at least one.
        vectors: Their unit vectors, of shape (number of texts, dimension).
    """
    number = min(_MOST_TOPICS, max(1, round(math.sqrt(len(texts) / 3))))
    groups = group_vectors(vectors, number)
    return [Topic(name, tuple(members)) for name, members in zip(_name(texts, groups), groups, strict=True)]


def _name(texts: Sequence[str], groups: Sequence[Sequence[int]]) -> list[str]:
    """Return the words of each group that are more frequent in it than elsewhere, the most telling first."""
    words = [{word.lower().rstrip(".-") for word in _WORD.findall(text)} for text in texts]
    everywhere = Counter(word for own in words for word in own)
    names = []
    for group in groups:
        here = Counter(word for member in group for word in words[member])
        others = max(1, len(texts) - len(group))
        telling = {
            word: (here[word] / len(group) - (everywhere[word] - here[word]) / others)
            * math.log(len(texts) / everywhere[word]) ** 2
            for word in here
        }
        own = [word for word in here if telling[word] > 0 and here[word] > 1]
        ranked = sorted(own, key=lambda word: (-telling[word], -len(word), word))
        names.append(", ".join(ranked[:_WORDS]) if len(groups) > 1 else "")
    return names
