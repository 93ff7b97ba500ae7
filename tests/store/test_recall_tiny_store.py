"""The first recalls of a new store: its only memory is found in other words, and unrelated questions find nothing."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore
from opencode_memory.embedding import BundledEmbedder
from support.stores import open_store

MEMORY = "Deploys go through ./scripts/deploy.sh, never by hand."
UNRELATED = (
    "what is the melting point of tungsten?",
    "who painted the Mona Lisa?",
    "how do I prune roses in spring?",
    "how long should I boil an egg?",
    "what is the capital of Mongolia?",
    "when did the Roman empire fall?",
)


@pytest.fixture(scope="module")
def one_memory(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    store = open_store(tmp_path_factory.mktemp("data") / "store", project="app", embedder=BundledEmbedder())
    store.remember(MEMORY)
    store.indexes.embed_pending()
    return store


def test_only_memory_is_found_in_other_words(one_memory: MemoryStore) -> None:
    assert [hit.memory.content for hit in one_memory.recall("how do I ship a release?")] == [MEMORY]


@pytest.mark.parametrize("question", UNRELATED)
def test_unrelated_question_finds_nothing(one_memory: MemoryStore, question: str) -> None:
    assert one_memory.recall(question) == []
