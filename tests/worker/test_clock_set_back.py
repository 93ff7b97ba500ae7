"""Jobs after the clock was set back: recurring jobs do not wait for the time of the wrong clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from opencode_memory import BusyError, MemoryStore
from opencode_memory.store.jobs import Jobs
from opencode_memory.worker.clock_set_back import bring_jobs_forward
from opencode_memory.worker.duty import Duty, always, repeat_every
from opencode_memory.worker.run import run_worker
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock
from support.worker_loop import make_clock, work_until_idle

YEAR_MS = 365 * DAY_MS
HOUR_MS = 3600 * SECOND_MS


def make_recurring(ran: list[int], store: MemoryStore) -> list[Duty]:
    do = repeat_every(timedelta(days=1), lambda _work: ran.append(store._engine.now_ms()))
    return [Duty(kind="daily", do=do, is_due=always)]


def work_while_clock_is(
    store: MemoryStore, duties: Sequence[Duty], times: Sequence[int], *, before: Callable[[int], None] = lambda _: None
) -> None:
    """Let one worker run its jobs until none is due, at one time after the other."""
    left = iter(times[1:])
    set_clock(store, times[0])

    def wait(seconds: float) -> bool:
        if seconds == 0:
            return True
        at = next(left, None)
        if at is not None:
            set_clock(store, at)
            before(at)
        return at is not None

    run_worker(store, duties, wait=wait, now=make_clock(store), lower_priority=False)


def test_recurring_job_runs_in_a_new_worker_after_the_clock_was_a_year_ahead(store: MemoryStore) -> None:
    ran: list[int] = []
    set_clock(store, NOW_MS + YEAR_MS)
    work_until_idle(store, make_recurring(ran, store))
    set_clock(store, NOW_MS)
    work_until_idle(store, make_recurring(ran, store))
    assert ran == [NOW_MS + YEAR_MS, NOW_MS]


def test_job_is_brought_forward_behind_a_large_backlog(store: MemoryStore) -> None:
    for number in range(1_001):
        store.jobs.enqueue("task", f"{number}.md")
    store.jobs.enqueue("daily", delay_seconds=YEAR_MS / SECOND_MS)
    assert bring_jobs_forward(store, at=make_clock(store)()) == 1


def test_recurring_job_runs_in_a_running_worker_when_the_clock_is_set_back(store: MemoryStore) -> None:
    ran: list[int] = []
    work_while_clock_is(store, make_recurring(ran, store), [NOW_MS + HOUR_MS, NOW_MS])
    assert ran == [NOW_MS + HOUR_MS, NOW_MS]


def test_recurring_job_waits_for_its_time_in_a_new_worker(store: MemoryStore) -> None:
    ran: list[int] = []
    work_until_idle(store, make_recurring(ran, store))
    set_clock(store, NOW_MS + HOUR_MS)
    work_until_idle(store, make_recurring(ran, store))
    assert ran == [NOW_MS]


def test_small_correction_of_the_clock_runs_no_job_again(store: MemoryStore) -> None:
    ran: list[int] = []
    work_while_clock_is(store, make_recurring(ran, store), [NOW_MS + SECOND_MS, NOW_MS])
    assert ran == [NOW_MS + SECOND_MS]


def test_busy_store_delays_jobs_after_the_clock_was_set_back(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def refuse(*_: object, **__: object) -> int:
        raise BusyError("the store is held")

    def hold_the_store_at_first(at: int) -> None:
        if at == NOW_MS:
            monkeypatch.setattr(Jobs, "enqueue", refuse)
        else:
            monkeypatch.undo()

    times = [NOW_MS + HOUR_MS, NOW_MS, NOW_MS + SECOND_MS]
    work_while_clock_is(store, make_recurring(ran, store), times, before=hold_the_store_at_first)
    assert ran == [NOW_MS + HOUR_MS, NOW_MS + SECOND_MS]


def test_held_and_dead_jobs_are_not_brought_forward(store: MemoryStore) -> None:
    set_clock(store, NOW_MS + YEAR_MS)
    store.jobs.enqueue("held")
    store.jobs.enqueue("dead")
    store.jobs.enqueue("waiting", "x", payload={"a": 1}, delay_seconds=60)
    assert store.jobs.claim("worker", kinds=("held",)) is not None
    dead = store.jobs.claim("worker", kinds=("dead",))
    assert dead is not None
    store.jobs.failed(dead, "no", is_final=True)
    set_clock(store, NOW_MS)
    assert bring_jobs_forward(store, at=make_clock(store)()) == 1
    found = store.jobs.claim("other")
    assert found is not None
    assert (found.kind, found.subject, found.payload) == ("waiting", "x", {"a": 1})
    assert store.jobs.claim("other") is None
