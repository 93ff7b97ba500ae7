"""What may be spent on the memory model in a day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from opencode_memory.learning.digest import (
    BudgetSpent,
    Completed,
    DistillationError,
    Distiller,
    DistillerSettings,
    Spent,
)
from support.distilling import NOW, PNPM, TODAY, Scene
from support.model_server import MODEL, judges, note, refuses


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as opened:
        yield opened


def test_server_says_what_was_spent(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=310), judges(note("1"), tokens=290))
    distiller = scene.make(server)
    assert distiller.distil([PNPM]).tokens == 310
    assert scene.ledger.days == {TODAY: Spent(calls=1, tokens=310)}
    distiller.distil([PNPM])
    assert scene.ledger.days == {TODAY: Spent(calls=2, tokens=600)}


def test_estimate_counts_when_the_server_does_not_say(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=None))
    report = scene.make(server).distil([PNPM])
    assert report.tokens == -(-len(server.received[0].text) // 4) + 2_048
    assert scene.ledger.days == {TODAY: Spent(calls=1, tokens=report.tokens)}


def test_request_is_charged_before_it_is_sent(scene: Scene) -> None:
    saved: list[Spent] = []
    save = scene.ledger.save

    def watched(day: date, spent: Spent) -> None:
        saved.append(spent)
        save(day, spent)

    scene.ledger.save = watched  # type: ignore[method-assign]
    scene.make(scene.serve(judges(note("1"), tokens=5))).distil([PNPM])
    assert saved[0].calls == 1
    assert saved[0].tokens > 2_048
    assert saved[-1] == Spent(calls=1, tokens=5)


def test_spent_calls_end_the_day_and_not_the_next_one(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=7))
    distiller = scene.make(server, calls_per_day=2)
    assert [distiller.distil([PNPM]).outcome for _ in range(2)] == [Completed(1), Completed(1)]
    midnight = datetime(2026, 10, 4, tzinfo=UTC)
    report = distiller.distil([PNPM])
    assert report.outcome == BudgetSpent(budget="calls", until=midnight)
    assert (report.distilled, report.dropped, report.tokens) == ((), {}, 0)
    assert len(server.received) == 2
    scene.clock.now = midnight - timedelta(microseconds=1)
    assert isinstance(distiller.distil([PNPM]).outcome, BudgetSpent)
    scene.clock.now = midnight
    assert distiller.distil([PNPM]).outcome == Completed(1)
    assert scene.ledger.days == {TODAY: Spent(calls=2, tokens=14), midnight.date(): Spent(calls=1, tokens=7)}


def test_spent_tokens_end_the_day(scene: Scene) -> None:
    server = scene.serve(judges(note("1"), tokens=9_000))
    distiller = scene.make(server, tokens_per_day=10_000)
    assert distiller.distil([PNPM]).outcome == Completed(1)
    assert distiller.distil([PNPM]).outcome == BudgetSpent(budget="tokens", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1
    assert scene.ledger.days == {TODAY: Spent(calls=1, tokens=9_000)}


def test_day_is_one_of_utc_whatever_the_zone_of_the_clock(scene: Scene) -> None:
    here = timezone(timedelta(hours=9))
    distiller = Distiller(
        DistillerSettings(model=MODEL, url=scene.serve(judges(note("1"))).url),
        scene.ledger,
        clock=lambda: NOW.astimezone(here),
    )
    distiller.distil([PNPM])
    assert NOW.astimezone(here).date() != TODAY
    assert list(scene.ledger.days) == [TODAY]


def test_budget_ends_between_two_dialects(scene: Scene) -> None:
    server = scene.serve(refuses(400), judges(note("1")))
    report = scene.make(server, calls_per_day=1).distil([PNPM])
    assert report.outcome == BudgetSpent(budget="calls", until=datetime(2026, 10, 4, tzinfo=UTC))
    assert len(server.received) == 1


def test_processes_share_the_budget(scene: Scene) -> None:
    server = scene.serve(judges(note("1")))
    one, other = scene.make(server, calls_per_day=1), scene.make(server, calls_per_day=1)
    one.distil([PNPM])
    assert isinstance(other.distil([PNPM]).outcome, BudgetSpent)


def test_request_that_no_day_has_room_for_is_an_error_that_says_so(scene: Scene) -> None:
    server = scene.serve(judges(note("1")))
    with pytest.raises(DistillationError, match="a day has 2,000") as failure:
        scene.make(server, tokens_per_day=2_000).distil([PNPM])
    assert failure.value.is_final
    assert not server.received
    assert not scene.ledger.days
