"""A map of memories: which ones speak of the same, where each topic lies, and what it is called.

Memories are grouped by their vectors. A topic is called by the words that its memories have and others do not. On the
map, near topics speak of similar things, and a memory lies near the others of its topic.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

_Vectors = npt.NDArray[np.float32]
_MOST_TOPICS: Final = 12
_ROUNDS: Final = 30
_RUNS: Final = 5
_WORDS: Final = 3
_SPREAD: Final = 0.6
"""Size of a topic on the map, as a share of the distance between topics."""
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


def find_topics(texts: Sequence[str], vectors: _Vectors) -> list[Topic]:
    """Group memories by meaning, the largest group first. The same memories give the same groups.

    Args:
        texts: The texts, at least one.
        vectors: Their unit vectors, of shape (number of texts, dimension).
    """
    number = min(_MOST_TOPICS, max(1, round(math.sqrt(len(texts) / 3))))
    labels = _group(vectors, number)
    groups = [_by_typicality(vectors, np.flatnonzero(labels == label)) for label in range(number)]
    kept = sorted((group for group in groups if group), key=lambda group: (-len(group), group[0]))
    return [Topic(name, members) for name, members in zip(_name(texts, kept), kept, strict=True)]


def place(vectors: _Vectors, topics: Sequence[Topic]) -> npt.NDArray[np.float64]:
    """Return where each memory lies on the map.

    Args:
        vectors: The unit vectors, of shape (number of memories, dimension).
        topics: The result of ``find_topics``.

    Returns:
        Coordinates from 0 to 1, of shape (number of memories, 2).
    """
    values = vectors.astype(np.float64)
    centres = np.stack([values[list(topic.members)].mean(axis=0) for topic in topics])
    of_topic = np.zeros(len(values), dtype=np.int64)
    for number, topic in enumerate(topics):
        of_topic[list(topic.members)] = number
    # A topic counts as often as it has memories, so that a small one does not push all others together.
    between = _to_unit(_flatten(centres[of_topic]))
    within = _to_unit(_flatten(values - centres[of_topic])) - 0.5
    return _to_unit(between + within * _SPREAD / max(1.0, math.sqrt(len(topics))))


def _by_typicality(vectors: _Vectors, members: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """Return the members of a group, the one that is nearest to its centre first."""
    own = vectors[members]
    return tuple(map(int, members[np.argsort(-(own @ own.sum(axis=0)), kind="stable")]))


def _group(vectors: _Vectors, number: int) -> npt.NDArray[np.int64]:
    """Return the group of each vector: the best of several runs of k-means on the sphere."""
    random = np.random.default_rng(0)
    runs = [_group_from(vectors, random.choice(len(vectors), number, replace=False)) for _ in range(_RUNS)]
    return max(runs, key=lambda run: run[1])[0]


def _group_from(vectors: _Vectors, starts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], float]:
    """Return the group of each vector, and the sum of the cosines to the centres of the groups."""
    centres = vectors[starts]
    labels = np.full(len(vectors), -1, dtype=np.int64)
    for _ in range(_ROUNDS):
        before, labels = labels, (vectors @ centres.T).argmax(axis=1)
        if np.array_equal(before, labels):
            break
        sums = np.eye(len(starts), dtype=np.float32)[labels].T @ vectors
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, np.finfo(np.float32).tiny), centres)
    return labels, float((vectors @ centres.T).max(axis=1).sum())


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


def _flatten(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Project on the two directions in which values differ most."""
    centred = values - values.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ directions[:, :-3:-1])


def _to_unit(flat: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scale each coordinate to 0 to 1; 0.5 if all are equal."""
    least, most = flat.min(axis=0), flat.max(axis=0)
    span = most - least
    return np.where(span > np.finfo(np.float32).eps, (flat - least) / np.where(span > 0, span, 1.0), 0.5)
