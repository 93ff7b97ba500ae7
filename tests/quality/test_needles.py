"""Short notes are found in other words about as well as by plain cosine, and names exactly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benches.quality import needles
from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.needles import Figures, Needle
from opencode_memory import MemoryStore
from opencode_memory.embedding import BundledEmbedder

SIZE = 300
ONE_QUESTION = 1 / 60


@pytest.fixture(scope="module")
def embedder() -> Iterator[CachedEmbedder]:
    with CachedEmbedder.open(BundledEmbedder(), None) as embedder:
        yield embedder


@pytest.fixture(scope="module")
def partly_embedded(embedder: CachedEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A store of embedded notes, and of needles without vectors."""
    folder = tmp_path_factory.mktemp("store") / "store"
    needles.fill(folder, needles.generate_notes(SIZE), 0, 0, embedder)
    with needles.open_store(folder, embedder) as store:
        for needle in (*needles.read_needles("tuning"), *needles.make_exact_needles()):
            store.remember(needle.note)
        yield store


def test_needles_are_distinct_and_split_in_halves() -> None:
    halves = [needles.read_needles(half) for half in needles.HALVES]
    assert [len(half) for half in halves] == [60, 60]
    assert len({needle.note for half in halves for needle in half}) == 120


@pytest.mark.parametrize("age_days", needles.AGES_DAYS)
def test_paraphrased_question_finds_its_note_as_plain_cosine_does(embedder: CachedEmbedder, age_days: int) -> None:
    recall, cosine = needles.measure("tuning", SIZE, age_days, embedder)
    assert recall.first >= cosine.first - 2 * ONE_QUESTION
    assert recall.ten >= cosine.ten - 2 * ONE_QUESTION
    assert recall.silent is not None
    assert recall.silent >= 0.5, "unrelated questions got an answer"


def test_name_in_a_question_finds_the_note_with_this_name_first(embedder: CachedEmbedder) -> None:
    recall: Figures = next(needles.measure(needles.EXACT, SIZE, 0, embedder))
    assert recall.first == 1.0


@pytest.mark.parametrize("needle", needles.read_needles("tuning")[::6], ids=lambda needle: needle.note[:20])
def test_note_without_vector_is_first_for_its_own_text(partly_embedded: MemoryStore, needle: Needle) -> None:
    assert needles.rank_by_recall(partly_embedded, Needle(needle.note, needle.note)) == 1


@pytest.mark.parametrize("needle", needles.make_exact_needles()[::6], ids=lambda needle: needle.question[:20])
def test_note_without_vector_is_first_for_a_name_that_only_it_has(partly_embedded: MemoryStore, needle: Needle) -> None:
    assert needles.rank_by_recall(partly_embedded, needle) == 1
