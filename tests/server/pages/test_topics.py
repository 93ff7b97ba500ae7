"""The map of topics: memories that speak of the same are grouped, named and placed together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from opencode_memory._core import place_vectors
from opencode_memory.server.pages.topics import Topic, find_topics

DIMENSION = 16
TEXTS = [
    *(f"The tide table number {number} is read at noon." for number in range(12)),
    *(f"Invoice {number} is rounded to whole cents." for number in range(8)),
    *(f"Walrus {number} is fed by the keeper." for number in range(5)),
]
OF = [0] * 12 + [1] * 8 + [2] * 5


def vectors_of(groups: list[int], *, noise: float = 0.1) -> npt.NDArray[np.float32]:
    random = np.random.default_rng(7)
    centres = np.eye(DIMENSION, dtype=np.float32)
    found = centres[groups] + noise * random.standard_normal((len(groups), DIMENSION)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def place(vectors: npt.NDArray[np.float32], topics: list[Topic]) -> npt.NDArray[np.float64]:
    return np.array(place_vectors(vectors, [topic.members for topic in topics]))


def test_memories_of_one_meaning_are_one_topic_with_its_own_words() -> None:
    topics = find_topics(TEXTS, vectors_of(OF))
    assert [set(topic.members) for topic in topics] == [set(range(12)), set(range(12, 20)), set(range(20, 25))]
    own = ["tide table number read noon", "invoice rounded whole cents", "walrus fed keeper"]
    for topic, words in zip(topics, own, strict=True):
        assert set(topic.name.split(", ")) <= set(words.split())


def test_members_of_a_topic_lie_nearer_to_each_other_than_topics_do() -> None:
    vectors = vectors_of(OF)
    topics = find_topics(TEXTS, vectors)
    places = place(vectors, topics)
    assert places.min() >= 0
    assert places.max() <= 1
    centres = np.stack([places[list(topic.members)].mean(axis=0) for topic in topics])
    between = min(float(np.linalg.norm(centres[a] - centres[b])) for a in range(3) for b in range(a))
    within = max(
        float(np.linalg.norm(places[list(topic.members)] - centre, axis=1).mean())
        for topic, centre in zip(topics, centres, strict=True)
    )
    assert within < between / 2


def test_every_memory_is_in_one_topic_and_the_result_is_always_the_same() -> None:
    random = np.random.default_rng(3)
    vectors = random.standard_normal((200, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"Sentence {number}" for number in range(200)]
    first, second = find_topics(texts, vectors), find_topics(texts, vectors)
    assert first == second
    assert sorted(member for topic in first for member in topic.members) == list(range(200))
    assert np.array_equal(place(vectors, first), place(vectors, second))


@pytest.mark.parametrize("number", [1, 2, 3, 30])
def test_few_or_equal_memories_have_a_place(number: int) -> None:
    vectors = vectors_of([0] * number, noise=0.0)
    topics = find_topics(["the same"] * number, vectors)
    assert sorted(member for topic in topics for member in topic.members) == list(range(number))
    assert np.all(place(vectors, topics) == 0.5)
