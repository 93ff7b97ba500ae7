"""Limits of relevance with a model whose cosines have another scale: known stays known, unknown stays unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.calibration import TEXTS as UNRELATED_TEXTS
from opencode_memory.worker.duties import maintenance_duties
from support.embedders import SqueezedEmbedder
from support.stores import NOW_MS, SECOND_MS, set_clock
from support.worker_loop import work_some, work_until_idle

OpenStore = Callable[..., MemoryStore]

NOTES = (
    "Use pnpm, never npm, in the shop repository.",
    "Deploys go through ./scripts/deploy.sh, never by hand.",
    "Migrations of the database are reviewed by Ana.",
    "API keys are stored in Vault.",
    "The nightly build runs at two in the morning.",
    "The mobile client talks gRPC to the gateway.",
    "Feature flags are defined in config/flags.yaml.",
    "Unit tests run with pytest -n auto.",
    "The staging cluster has three nodes.",
    "Logs are shipped to Loki with promtail.",
    "Branches are squashed before they are merged.",
    "The billing service rounds amounts half to even.",
    "Images are tagged with the commit hash.",
    "Python code is formatted with ruff.",
    "The search index is rebuilt after each release.",
    "Webhooks are retried five times with exponential backoff.",
)
KNOWN = ("which package manager do we use?", "how do I release to production?", "where are credentials kept?")
UNKNOWN = ("who won the football match?", "how do you bake a sourdough loaf?", "which glacier melts fastest?")
BUNDLED = BundledEmbedder()


def _fill(store: MemoryStore) -> None:
    store.remember_many({"content": text} for text in NOTES)


def _answers(store: MemoryStore) -> list[list[tuple[str, float]]]:
    """Text and relevance of each hit of each question."""
    return [
        [(hit.memory.content, hit.relevance or 0.0) for hit in store.recall(query, limit=5)]
        for query in (*KNOWN, *UNKNOWN)
    ]


@pytest.fixture
def expected(open_store: OpenStore, tmp_path: Path) -> list[list[tuple[str, float]]]:
    """The answers of a store with the bundled model."""
    store = open_store(tmp_path / "bundled", project="app", embedder=BUNDLED)
    _fill(store)
    store.indexes.embed_pending()
    work_until_idle(store, maintenance_duties())
    assert store._engine.cosine_scale(BUNDLED.model_id) is None, "the bundled model is the reference"
    answers = _answers(store)
    assert [bool(hits) for hits in answers] == [True] * len(KNOWN) + [False] * len(UNKNOWN)
    return answers


def _assert_alike(found: list[list[tuple[str, float]]], expected: list[list[tuple[str, float]]]) -> None:
    for hits, wanted in zip(found, expected, strict=True):
        assert [text for text, _ in hits] == [text for text, _ in wanted]
        # Vectors are stored in half precision, and a part of that precision is lost in the squeezed ones.
        assert [relevance for _, relevance in hits] == pytest.approx([relevance for _, relevance in wanted], abs=0.02)


def test_model_that_is_not_measured_knows_every_answer(
    open_store: OpenStore, expected: list[list[tuple[str, float]]]
) -> None:
    store = open_store(project="app", embedder=SqueezedEmbedder(BUNDLED))
    _fill(store)
    store.indexes.embed_some(limit=100)
    assert all(_answers(store)), "this test shows the defect that the measurement mends"
    assert not store.indexes.models.is_calibrated()


def test_worker_measures_the_model_of_a_store(open_store: OpenStore, expected: list[list[tuple[str, float]]]) -> None:
    embedder = SqueezedEmbedder(BUNDLED)
    store = open_store(project="app", embedder=embedder)
    _fill(store)
    store.indexes.embed_some(limit=100)
    work_until_idle(store, maintenance_duties())
    assert store.indexes.models.is_calibrated()
    _assert_alike(_answers(store), expected)
    assert [job for job in store.jobs.list() if job.kind == "calibrate"] == []


def test_first_embedding_measures_the_model_before_it_links(
    open_store: OpenStore, expected: list[list[tuple[str, float]]]
) -> None:
    store = open_store(project="app", embedder=SqueezedEmbedder(BUNDLED))
    _fill(store)
    store.indexes.embed_pending()
    assert store.links(["similar", "extends", "related"]) == []
    _assert_alike(_answers(store), expected)


def test_change_of_the_model_measures_it_before_it_answers(
    open_store: OpenStore, expected: list[list[tuple[str, float]]]
) -> None:
    first = open_store(project="app", embedder=BUNDLED)
    _fill(first)
    first.indexes.embed_pending()
    squeezed = SqueezedEmbedder(BUNDLED)
    other = open_store(project="app", embedder=BUNDLED, other_embedders=[squeezed])
    _assert_alike(_answers(other), expected)
    open_store(project="app", embedder=squeezed, other_embedders=[BUNDLED]).indexes.models.change()
    _assert_alike(_answers(other), expected)
    open_store(project="app", embedder=BUNDLED, other_embedders=[squeezed]).indexes.models.change()
    assert _answers(other) == expected


def test_model_that_fails_is_measured_later(open_store: OpenStore) -> None:
    embedder = SqueezedEmbedder(BUNDLED)
    store = open_store(project="app", embedder=embedder)
    store.remember(NOTES[0])
    store.indexes.embed_some(limit=100)
    embedder.is_down = True
    work_some(store, maintenance_duties())
    assert not store.indexes.models.is_calibrated()
    embedder.is_down = False
    set_clock(store, NOW_MS + 120 * SECOND_MS)
    work_some(store, maintenance_duties())
    assert store.indexes.models.is_calibrated()


def test_unrelated_memories_are_not_linked(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=SqueezedEmbedder(BUNDLED))
    store.remember(UNRELATED_TEXTS[0])
    store.indexes.embed_pending()
    store.indexes.models.calibrate()
    store.remember_many({"content": text} for text in UNRELATED_TEXTS[1:])
    work_until_idle(store, maintenance_duties())
    assert store.links(["similar", "extends", "related"]) == []
