"""Daily budget of digests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from opencode_memory.learning.digest.budget import BudgetExceeded, Usage
from opencode_memory.learning.digest.errors import DigestError
from opencode_memory.learning.digest.prompt import estimate_tokens
from opencode_memory.learning.digest.server_model import ModelAnswer, ServerModel
from opencode_memory.learning.digest.settings import DigestSettings
from support.digesting import NOW, TODAY, Scene, ask
from support.model_server import MODEL, digests, refuses

EMPTY = '{"items": [], "summary": {"done": "", "decided": "", "open": ""}}'


def test_reported_usage_is_charged(scene: Scene) -> None:
    server = scene.serve(digests(tokens=310), digests(tokens=290))
    model = scene.make(server)
    assert ask(model) == ModelAnswer(text=EMPTY, tokens=310, requests=1)
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=310)}
    ask(model)
    assert scene.ledger.days == {TODAY: Usage(calls=2, tokens=600)}


def test_estimate_is_charged_without_reported_usage(scene: Scene) -> None:
    server = scene.serve(digests(tokens=None))
    report = ask(scene.make(server))
    assert isinstance(report, ModelAnswer)
    assert report.tokens == estimate_tokens(server.received[0].text) + 4_096
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=report.tokens)}


def test_request_is_charged_before_it_is_sent(scene: Scene) -> None:
    saved: list[Usage] = []
    save = scene.ledger.save

    def watched(day: date, spent: Usage) -> None:
        saved.append(spent)
        save(day, spent)

    scene.ledger.save = watched  # type: ignore[method-assign]
    ask(scene.make(scene.serve(digests(tokens=5))))
    assert saved[0].calls == 1
    assert saved[0].tokens > 4_096
    assert saved[-1] == Usage(calls=1, tokens=5)


def test_call_budget_is_renewed_at_midnight(scene: Scene) -> None:
    server = scene.serve(digests(tokens=7))
    model = scene.make(server, calls_per_day=2)
    assert not any(isinstance(ask(model), BudgetExceeded) for _ in range(2))
    midnight = datetime(2026, 10, 4, tzinfo=UTC)
    report = ask(model)
    assert report == BudgetExceeded(budget="calls", until=midnight)
    assert len(server.received) == 2
    scene.clock.now = midnight - timedelta(microseconds=1)
    assert isinstance(ask(model), BudgetExceeded)
    scene.clock.now = midnight
    assert isinstance(ask(model), ModelAnswer)
    assert scene.ledger.days == {TODAY: Usage(calls=2, tokens=14), midnight.date(): Usage(calls=1, tokens=7)}


def test_token_budget_stops_requests_for_the_day(scene: Scene) -> None:
    server = scene.serve(digests(tokens=9_000))
    model = scene.make(server, tokens_per_day=10_000)
    assert isinstance(ask(model), ModelAnswer)
    assert ask(model) == BudgetExceeded(budget="tokens", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=9_000)}


def test_budget_day_is_in_utc_for_any_clock_zone(scene: Scene) -> None:
    here = timezone(timedelta(hours=9))
    model = ServerModel(
        DigestSettings(model=MODEL, url=scene.serve(digests()).url),
        scene.ledger,
        clock=lambda: NOW.astimezone(here),
    )
    ask(model)
    assert NOW.astimezone(here).date() != TODAY
    assert list(scene.ledger.days) == [TODAY]


def test_budget_is_checked_between_two_dialects(scene: Scene) -> None:
    server = scene.serve(refuses(400), digests())
    report = ask(scene.make(server, calls_per_day=1))
    assert report == BudgetExceeded(budget="calls", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1


def test_processes_share_the_budget(scene: Scene) -> None:
    server = scene.serve(digests())
    one, other = scene.make(server, calls_per_day=1), scene.make(server, calls_per_day=1)
    ask(one)
    assert isinstance(ask(other), BudgetExceeded)


def test_request_larger_than_a_days_budget_is_a_final_error(scene: Scene) -> None:
    server = scene.serve(digests())
    with pytest.raises(DigestError, match="limit per day is 2,000") as failure:
        ask(scene.make(server, tokens_per_day=2_000))
    assert failure.value.is_final
    assert not server.received
    assert not scene.ledger.days
