"""The end of a reader's list costs nearly no right hit among the first three, and shortens weak answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benches.quality import needles
from benches.quality.cached_embedder import CachedEmbedder
from opencode_memory import MemoryStore
from opencode_memory.context.results import cut
from opencode_memory.embedding import BundledEmbedder

SIZE = 300
LIMIT = 10
FIRST = 3
MOST_LOST = 0.01
LONGEST_MEAN = 7.0
UNRELATED = ("how long do I boil an egg?", "when is the next solar eclipse?", "who won the chess championship in 1972?")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A store with the needles of both halves among other notes."""
    folder = tmp_path_factory.mktemp("store") / "store"
    asked = [needle for half in needles.HALVES for needle in needles.read_needles(half)]
    notes = [*(needle.note for needle in asked), *needles.generate_notes(SIZE - len(asked))]
    with CachedEmbedder.open(BundledEmbedder(), None) as embedder:
        needles.fill(folder, notes, 0, 0, embedder)
        with needles.open_store(folder, embedder, read_only=True) as store:
            yield store


def test_list_ends_behind_the_right_hits(store: MemoryStore) -> None:
    right = lost = length = count = 0
    for half in needles.HALVES:
        for needle in needles.read_needles(half):
            hits = store.recall(needle.question, limit=LIMIT)
            shown = cut(hits)
            if hits:
                length, count = length + len(shown), count + 1
            first = [hit.memory.content for hit in hits[:FIRST]]
            if needle.note in first:
                right += 1
                lost += needle.note not in [hit.memory.content for hit in shown]
    assert right > 60
    assert lost <= MOST_LOST * right, f"{lost} of {right}"
    assert length <= LONGEST_MEAN * count, f"{length / count:.1f}"


@pytest.mark.parametrize("question", UNRELATED)
def test_no_long_list_of_weak_hits(store: MemoryStore, question: str) -> None:
    hits = store.recall(question, limit=LIMIT)
    assert len(cut(hits)) <= LIMIT // 2
