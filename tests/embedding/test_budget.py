"""Daily budget of tokens: the upper bound before a request, the correction afterwards, and requests that failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.budget import CountedEmbedder, count_tokens, most_tokens
from opencode_memory.embedding.served.client import PAUSES, Client
from opencode_memory.embedding.served.embedder import MOST_TEXTS, ServedEmbedder
from opencode_memory.embedding.served.settings import ServedModel
from opencode_memory.embedding.served.wire import parse_usage
from opencode_memory.errors import BusyError, EmbeddingBudgetError, EmbeddingError
from support.embedding_server import MODEL, EmbeddingServer, Reply

DAY = 20_000
NEXT_DAY = datetime(2024, 10, 5, tzinfo=UTC)


class Ledger:
    """Counts tokens in memory; satisfies ``TokenLedger``."""

    def __init__(self) -> None:
        self.tokens = 0
        self.error: Exception | None = None

    def charge(self, tokens: int, *, limit: int) -> int | None:
        if self.error is not None:
            raise self.error
        if self.tokens + tokens > limit:
            return None
        self.tokens += tokens
        return DAY

    def correct(self, day: int, *, by: int) -> None:
        assert day == DAY
        if self.error is not None:
            raise self.error
        self.tokens += by

    def spent(self) -> tuple[int, int, int | None]:
        return DAY, self.tokens, None


def _embedder(server: EmbeddingServer, ledger: Ledger | None, *, limit: int = 10_000) -> ServedEmbedder:
    model = ServedModel(
        name=MODEL,
        dimension=64,
        url=f"{server.url}/embeddings",
        origin=server.url.removesuffix("/v1"),
        tokens_per_day=limit,
    )
    client = Client(model, pause=lambda _seconds: None)
    return ServedEmbedder(model, client, cutter=BundledEmbedder(), ledger=ledger)


def test_reported_usage_replaces_the_upper_bound() -> None:
    ledger = Ledger()
    with EmbeddingServer(count=lambda texts: 3 * len(texts)) as server:
        embedder = _embedder(server, ledger)
        embedder.embed(["red fox", "blue sea"])
        assert ledger.tokens == 6
        embedder.embed_query("green hill")
        assert ledger.tokens == 9
        embedder.embed_query("green hill")
    assert ledger.tokens == 9, "a query that is cached costs nothing"


@pytest.mark.parametrize("reported", [None, 0, -5, True, 2.5, "8", 10**13])
def test_usage_that_cannot_be_used_keeps_the_upper_bound(reported: Any) -> None:
    ledger = Ledger()
    with EmbeddingServer(count=lambda _texts: reported) as server:
        _embedder(server, ledger).embed(["red fox"])
    assert ledger.tokens == most_tokens(["red fox"])


def test_request_beyond_the_budget_is_not_sent() -> None:
    ledger = Ledger()
    with EmbeddingServer() as server:
        embedder = _embedder(server, ledger, limit=100)
        ledger.tokens = 90
        for attempt in (lambda: embedder.embed(["red fox"]), lambda: embedder.embed_query("red fox")):
            with pytest.raises(EmbeddingBudgetError, match="goes on at 2024-10-05 00:00 UTC") as raised:
                attempt()
            assert raised.value.until == NEXT_DAY
            assert raised.value.tokens == most_tokens(["red fox"])
            assert raised.value.hint is not None
    assert server.received == []
    assert ledger.tokens == 90


def test_text_beyond_the_budget_of_a_whole_day_names_the_limit() -> None:
    with EmbeddingServer() as server, pytest.raises(EmbeddingBudgetError, match="allows 20") as raised:
        _embedder(server, Ledger(), limit=20).embed(["a text of many words"])
    assert raised.value.until is None
    assert server.received == []


def test_texts_of_several_requests_are_checked_before_the_first_one() -> None:
    texts = [f"text {number:04}" for number in range(MOST_TEXTS + 1)]
    ledger = Ledger()
    with EmbeddingServer() as server:
        embedder = _embedder(server, ledger, limit=most_tokens(texts) - 1)
        with pytest.raises(EmbeddingBudgetError):
            embedder.embed(texts)
        assert server.received == []
        assert len(embedder.embed(texts[:-1])) == MOST_TEXTS


@pytest.mark.parametrize("status", [429, 503])
def test_attempt_that_the_server_refuses_costs_nothing(status: int) -> None:
    ledger = Ledger()
    with EmbeddingServer(*[Reply(status=status)] * len(PAUSES), count=lambda _texts: 4) as server:
        _embedder(server, ledger).embed(["red fox"])
    assert ledger.tokens == 4
    assert len(server.received) == len(PAUSES) + 1


def test_request_that_is_refused_for_good_or_never_sent_costs_nothing() -> None:
    ledger = Ledger()
    with EmbeddingServer(Reply(status=401)) as server:
        embedder = _embedder(server, ledger)
        with pytest.raises(EmbeddingError, match="401"):
            embedder.embed(["red fox"])
        assert ledger.tokens == 0
    with pytest.raises(EmbeddingError, match="cannot connect"):
        embedder.embed(["red fox"])
    assert ledger.tokens == 0


def test_answer_that_cannot_be_used_costs_what_it_reports() -> None:
    ledger = Ledger()
    reply = Reply(change=lambda answer: {**answer, "data": []})
    with EmbeddingServer(reply) as server, pytest.raises(EmbeddingError, match="indexes"):
        _embedder(server, ledger).embed(["red fox"])
    assert ledger.tokens == 8


def test_connection_that_breaks_keeps_the_charge_of_each_attempt() -> None:
    ledger = Ledger()
    with EmbeddingServer(Reply(headers={"Content-Encoding": "gzip"})) as server, pytest.raises(EmbeddingError):
        _embedder(server, ledger).embed(["red fox"])
    assert ledger.tokens == most_tokens(["red fox"]), "the server may have done the work"


def test_nothing_is_sent_if_the_tokens_cannot_be_counted() -> None:
    ledger = Ledger()
    ledger.error = BusyError("the store is busy")
    with EmbeddingServer() as server:
        with pytest.raises(EmbeddingError, match="cannot be counted: the store is busy"):
            _embedder(server, ledger).embed(["red fox"])
        with pytest.raises(EmbeddingError, match="no store that counts"):
            _embedder(server, None).embed(["red fox"])
    assert server.received == []


def test_vectors_are_kept_if_the_correction_fails(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()

    def fail(texts: Sequence[str]) -> int:
        ledger.error = BusyError("the store is busy")
        return len(texts)

    with EmbeddingServer(count=fail) as server:
        assert len(_embedder(server, ledger).embed(["red fox"])) == 1
    assert "could not be corrected" in caplog.text
    assert ledger.tokens == most_tokens(["red fox"])


def test_upper_bound_counts_bytes_and_accepts_half_characters() -> None:
    assert most_tokens([]) == 0
    assert most_tokens(["né"]) == 3 + 8
    assert most_tokens(["\ud800", "a"]) == 3 + 8 + 1 + 8


def test_embedder_without_a_limit_is_not_counted() -> None:
    with EmbeddingServer() as server:
        embedder = _embedder(server, None, limit=0)
        assert isinstance(embedder, CountedEmbedder)
        assert count_tokens(embedder, Ledger()) is embedder
        assert len(embedder.embed(["red fox"])) == 1
    bundled = BundledEmbedder()
    assert count_tokens(bundled, Ledger()) is bundled


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (b'{"usage": {"total_tokens": 7, "prompt_tokens": 5}}', 7),
        (b'{"usage": {"prompt_tokens": 5}}', 5),
        (b'{"usage": {"total_tokens": 0, "prompt_tokens": 5}}', 5),
        (b'{"usage": []}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"\xff", None),
    ],
)
def test_usage_of_an_answer_is_read(body: bytes, tokens: int | None) -> None:
    assert parse_usage(body) == tokens
