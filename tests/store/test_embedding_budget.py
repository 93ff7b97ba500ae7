"""Budget of tokens in a store: one count for all processes, postponed work, and recall by words meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import pytest

from opencode_memory import MemoryStore
from opencode_memory.embedding.budget import most_tokens
from opencode_memory.embedding.served.client import Client
from opencode_memory.embedding.served.embedder import ServedEmbedder
from opencode_memory.embedding.served.settings import ServedModel
from opencode_memory.errors import EmbeddingBudgetError
from opencode_memory.maintenance.health import check_store
from opencode_memory.worker.duties import maintenance_duties
from support.embedders import WordEmbedder
from support.embedding_server import MODEL, EmbeddingServer
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock, texts
from support.worker_loop import work_some

OpenStore = Callable[..., MemoryStore]

TEXTS = [f"walrus number {number:04} sits on the ice" for number in range(100)]
COST = most_tokens(TEXTS[:1])
MIDNIGHT_MS = (NOW_MS // DAY_MS + 1) * DAY_MS


def _count_bytes(sent: Sequence[str]) -> int:
    return most_tokens(sent)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that needs as many tokens as the upper bound says."""
    with EmbeddingServer(count=_count_bytes) as running:
        yield running


def _served(server: EmbeddingServer, limit: int) -> ServedEmbedder:
    origin = server.url.removesuffix("/v1")
    url = f"{server.url}/embeddings"
    model = ServedModel(name=MODEL, dimension=64, url=url, origin=origin, tokens_per_day=limit)
    return ServedEmbedder(model, Client(model), cutter=WordEmbedder())


def _tokens(server: EmbeddingServer) -> int:
    return most_tokens(server.inputs)


def _remember(store: MemoryStore, number: int = len(TEXTS)) -> None:
    store.remember_many({"content": text} for text in TEXTS[:number])


def test_embedding_stops_at_the_budget_and_keeps_what_it_paid_for(
    open_store: OpenStore, server: EmbeddingServer
) -> None:
    store = open_store(project="app", embedder=_served(server, 10 * COST + 5))
    _remember(store)
    with pytest.raises(EmbeddingBudgetError, match="used up"):
        store.indexes.embed_pending()
    assert store.indexes.count_pending() == 90
    assert sorted(server.inputs) == TEXTS[:10], "no text is sent twice"


def test_restart_and_second_process_share_the_budget(open_store: OpenStore, server: EmbeddingServer) -> None:
    limit = 10 * COST
    first = open_store(project="app", embedder=_served(server, limit))
    second = open_store(project="app", embedder=_served(server, limit))
    _remember(first)
    assert first.indexes.embed_some(limit=6) == 6
    with pytest.raises(EmbeddingBudgetError):
        second.indexes.embed_pending()
    first.close()
    with pytest.raises(EmbeddingBudgetError):
        open_store(project="app", embedder=_served(server, limit)).indexes.embed_pending()
    assert _tokens(server) == limit


def test_worker_waits_for_the_next_day_and_says_so(
    open_store: OpenStore, server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    limit = 50 * COST
    store = open_store(project="app", embedder=_served(server, limit))
    _remember(store)
    with caplog.at_level(logging.WARNING):
        for minute in range(0, 60, 5):
            set_clock(store, NOW_MS + minute * 60 * SECOND_MS)
            work_some(store, maintenance_duties())
    assert _tokens(server) == limit
    assert store.indexes.count_pending() == 50
    assert "embedding goes on at" in caplog.text
    assert caplog.text.count("(embed) is postponed") == 6, (
        "the worker looks every ten minutes, as the limit may be raised"
    )
    [job] = [job for job in store.jobs.list() if job.kind == "embed"]
    assert job.dead_at is None
    assert job.run_at > datetime.fromtimestamp((NOW_MS + 55 * 60 * SECOND_MS) / 1000, UTC)
    set_clock(store, MIDNIGHT_MS)
    work_some(store, maintenance_duties())
    assert store.indexes.count_pending() == 0
    assert _tokens(server) == 2 * limit


def test_waiting_is_a_note_of_the_health_and_ends_if_the_limit_is_raised(
    open_store: OpenStore, server: EmbeddingServer
) -> None:
    store = open_store(project="app", embedder=_served(server, 10 * COST))
    assert [finding.name for finding in check_store(store)] == []
    _remember(store)
    with pytest.raises(EmbeddingBudgetError):
        store.indexes.embed_pending()
    found = {finding.name: finding for finding in check_store(store)}
    assert set(found) == {"embeddings", "embed_budget"}
    assert not found["embed_budget"].is_problem
    assert "00:00 UTC" in found["embed_budget"].text
    budget = store.indexes.models.status().budget
    assert budget is not None
    assert (budget.limit, budget.tokens) == (10 * COST, 10 * COST)
    assert budget.until == datetime.fromtimestamp(MIDNIGHT_MS / 1000, UTC)
    raised = open_store(project="app", embedder=_served(server, 1000 * COST))
    assert {finding.name for finding in check_store(raised)} == {"embeddings"}
    assert raised.indexes.embed_pending() == 90


def test_recall_goes_on_by_words_and_existing_vectors(open_store: OpenStore, server: EmbeddingServer) -> None:
    store = open_store(project="app", embedder=_served(server, 4 * COST))
    _remember(store, 4)
    store.indexes.embed_pending()
    sent = len(server.received)
    assert texts(store.recall("walrus 0002"))[0] == TEXTS[2]
    assert len(server.received) == sent
    assert {finding.name for finding in check_store(store)} == {"embed_budget"}


def test_read_only_store_sends_nothing_because_it_cannot_count(open_store: OpenStore, server: EmbeddingServer) -> None:
    store = open_store(project="app", embedder=_served(server, 1000 * COST))
    _remember(store, 4)
    store.indexes.embed_pending()
    sent = len(server.received)
    reader = open_store(project="app", embedder=_served(server, 1000 * COST), read_only=True)
    assert texts(reader.recall("walrus 0002"))[0] == TEXTS[2]
    assert len(server.received) == sent


def test_text_beyond_the_budget_of_a_day_blocks_no_other(open_store: OpenStore, server: EmbeddingServer) -> None:
    store = open_store(project="app", embedder=_served(server, 10 * COST))
    long = " ".join(f"seal{number}" for number in range(120))
    store.remember(long)
    _remember(store, 5)
    failed: list[Exception] = []
    assert store.indexes.embed_some(limit=100, on_failure=lambda _key, error: failed.append(error)) == 5
    assert "it is never sent" in str(failed[0])


def test_embedder_of_sessions_shares_the_budget(open_store: OpenStore, server: EmbeddingServer) -> None:
    store = open_store(project="app", session_embedder=_served(server, COST))
    assert store._queue.embed_query("red fox", of_sessions=True) is not None
    assert store._queue.embed_query("x" * 2 * COST, of_sessions=True) is None
    assert server.inputs == ["red fox"]


def test_change_of_the_model_goes_on_day_by_day(open_store: OpenStore, server: EmbeddingServer) -> None:
    old = WordEmbedder("old", dimension=64)
    first = open_store(project="app", embedder=old)
    _remember(first)
    first.indexes.embed_pending()
    limit = 40 * COST
    store = open_store(project="app", embedder=_served(server, limit), other_embedders=[old])
    store.indexes.models.begin_change()
    for day in range(5):
        set_clock(store, NOW_MS + day * DAY_MS)
        work_some(store, maintenance_duties(), rounds=60)
        store.maintain()
        assert _tokens(server) <= (day + 1) * limit
        assert store.indexes.mismatch() is None
    assert store.indexes.models.status().active == _served(server, limit).model_id
    assert store.indexes.count_pending() == 0
    assert sorted(text for text in server.inputs if text in TEXTS) == TEXTS, "no text is paid for twice"
