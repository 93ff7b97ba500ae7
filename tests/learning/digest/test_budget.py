"""Daily budget of the optional LLM."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from opencode_memory.learning.digest import (
    BudgetExceeded,
    Completed,
    Digester,
    DigestError,
    DigestSettings,
    Usage,
)
from support.digesting import NOW, PNPM, TODAY, Scene
from support.model_server import MODEL, judges, note, refuses


def test_reported_usage_is_charged(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=310), judges(note("1"), tokens=290))
    digester = scene.make(server)
    assert digester.digest([PNPM]).tokens == 310
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=310)}
    digester.digest([PNPM])
    assert scene.ledger.days == {TODAY: Usage(calls=2, tokens=600)}


def test_estimate_is_charged_without_reported_usage(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=None))
    report = scene.make(server).digest([PNPM])
    assert report.tokens == -(-len(server.received[0].text) // 4) + 2_048
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=report.tokens)}


def test_request_is_charged_before_it_is_sent(scene: Scene) -> None:
    saved: list[Usage] = []
    save = scene.ledger.save

    def watched(day: date, spent: Usage) -> None:
        saved.append(spent)
        save(day, spent)

    scene.ledger.save = watched  # type: ignore[method-assign]
    scene.make(scene.serve(judges(note("1"), tokens=5))).digest([PNPM])
    assert saved[0].calls == 1
    assert saved[0].tokens > 2_048
    assert saved[-1] == Usage(calls=1, tokens=5)


def test_call_budget_is_renewed_at_midnight(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=7))
    digester = scene.make(server, calls_per_day=2)
    assert [digester.digest([PNPM]).outcome for _ in range(2)] == [Completed(1), Completed(1)]
    midnight = datetime(2026, 10, 4, tzinfo=UTC)
    report = digester.digest([PNPM])
    assert report.outcome == BudgetExceeded(budget="calls", until=midnight)
    assert (report.verdicts, report.dropped, report.tokens) == ((), {}, 0)
    assert len(server.received) == 2
    scene.clock.now = midnight - timedelta(microseconds=1)
    assert isinstance(digester.digest([PNPM]).outcome, BudgetExceeded)
    scene.clock.now = midnight
    assert digester.digest([PNPM]).outcome == Completed(1)
    assert scene.ledger.days == {TODAY: Usage(calls=2, tokens=14), midnight.date(): Usage(calls=1, tokens=7)}


def test_token_budget_stops_requests_for_the_day(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=9_000))
    digester = scene.make(server, tokens_per_day=10_000)
    assert digester.digest([PNPM]).outcome == Completed(1)
    assert digester.digest([PNPM]).outcome == BudgetExceeded(budget="tokens", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1
    assert scene.ledger.days == {TODAY: Usage(calls=1, tokens=9_000)}


def test_budget_day_is_in_utc_for_any_clock_zone(scene: Scene) -> None:
    here = timezone(timedelta(hours=9))
    digester = Digester(
        DigestSettings(model=MODEL, url=scene.serve(judges(note("1"))).url),
        scene.ledger,
        clock=lambda: NOW.astimezone(here),
    )
    digester.digest([PNPM])
    assert NOW.astimezone(here).date() != TODAY
    assert list(scene.ledger.days) == [TODAY]


def test_budget_is_checked_between_two_dialects(scene: Scene) -> None:
    server = scene.serve(refuses(400), judges(note("1")))
    report = scene.make(server, calls_per_day=1).digest([PNPM])
    assert report.outcome == BudgetExceeded(budget="calls", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1


def test_processes_share_the_budget(scene: Scene) -> None:
    server = scene.serve(judges(note("1")))
    one, other = scene.make(server, calls_per_day=1), scene.make(server, calls_per_day=1)
    one.digest([PNPM])
    assert isinstance(other.digest([PNPM]).outcome, BudgetExceeded)


def test_request_larger_than_a_days_budget_is_a_final_error(scene: Scene) -> None:
    server = scene.serve(judges(note("1")))
    with pytest.raises(DigestError, match="limit per day is 2,000") as failure:
        scene.make(server, tokens_per_day=2_000).digest([PNPM])
    assert failure.value.is_final
    assert not server.received
    assert not scene.ledger.days
