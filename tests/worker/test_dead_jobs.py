"""Dead jobs of recurring duties are tried again at their next regular time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.store.jobs import Job
from opencode_memory.text.clock import to_ms
from opencode_memory.worker.duty import Duty, Work, always, repeat_every
from support.stores import DAY_MS, SECOND_MS, open_store, set_clock
from support.worker_loop import work_through_failures, work_until_idle

HOUR_MS = 3600 * SECOND_MS
HOUR = timedelta(hours=1)


@dataclass
class Hourly:
    """A recurring duty that fails while it is broken.

    Attributes:
        store: The store with the queue.
        is_broken: Whether the duty fails.
        has_work: Whether the check of the duty finds work.
        tries: Number of its attempts.
    """

    store: MemoryStore
    is_broken: bool = True
    has_work: bool = True
    tries: int = 0
    duties: list[Duty] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.duties.append(Duty(kind="hourly", do=repeat_every(HOUR, self._do), is_due=lambda _store: self.has_work))

    def _do(self, _work: Work) -> None:
        self.tries += 1
        if self.is_broken:
            raise OSError(28, "No space left on device")

    def run_at(self, now_ms: int) -> int:
        """Run the worker at a time; return the number of attempts."""
        set_clock(self.store, now_ms)
        before = self.tries
        work_until_idle(self.store, self.duties)
        return self.tries - before

    def die(self) -> int:
        """Fail permanently; return the time."""
        work_through_failures(self.store, self.duties)
        died = self.job().dead_at
        assert died is not None
        return to_ms(died)

    def job(self) -> Job:
        [job] = [job for job in self.store.jobs.list() if not job.subject]
        return job


def add_dead_texts(folder: Path, number: int, *, dead_ms: int) -> None:
    """Add dead jobs of another kind to a closed store. The queue would take several seconds for so many."""
    row = "INSERT INTO job(kind, subject, payload, attempts, run_at, dead_at, error, created_at)"
    with closing(sqlite3.connect(folder / "store.db")) as database, database:
        database.executemany(
            f"{row} VALUES('embed', ?, '{{}}', 8, ?, ?, 'no', ?)",
            [(str(text), dead_ms, dead_ms, dead_ms) for text in range(number)],
        )


@pytest.fixture
def hourly(tmp_path: Path) -> Iterator[Hourly]:
    with open_store(tmp_path / "store") as store:
        yield Hourly(store)


def test_dead_job_is_tried_once_at_each_regular_time_and_stays_visible(hourly: Hourly) -> None:
    dead_ms = hourly.die()
    assert [hourly.run_at(dead_ms + after) for after in (HOUR_MS - 1, HOUR_MS, HOUR_MS + 1)] == [0, 1, 0]
    assert hourly.job().dead_at is not None
    assert "No space left" in (hourly.job().error or "")


def test_job_that_succeeds_at_last_recurs_as_before(hourly: Hourly) -> None:
    dead_ms = hourly.die()
    hourly.is_broken = False
    assert hourly.run_at(dead_ms + HOUR_MS) == 1
    job = hourly.job()
    assert (job.dead_at, job.error, job.attempts, to_ms(job.run_at)) == (None, None, 0, dead_ms + 2 * HOUR_MS)


def test_dead_job_without_work_stays_dead(hourly: Hourly) -> None:
    dead_ms = hourly.die()
    hourly.has_work = False
    assert hourly.run_at(dead_ms + DAY_MS) == 0


def test_job_that_died_while_the_clock_was_ahead_is_tried_again(hourly: Hourly) -> None:
    dead_ms = hourly.die()
    hourly.is_broken = False
    assert hourly.run_at(dead_ms - 365 * DAY_MS) == 1


def test_dead_job_of_a_subject_stays_dead(hourly: Hourly) -> None:
    hourly.store.jobs.enqueue("hourly", "a file")
    dead_ms = hourly.die()
    assert hourly.run_at(dead_ms + DAY_MS) == 1
    assert [job.subject for job in hourly.store.jobs.list() if job.dead_at is not None] == ["", "a file"]


def test_dead_job_behind_many_later_ones_is_tried_again(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        dead_ms = Hourly(store).die()
    add_dead_texts(tmp_path, 1_500, dead_ms=dead_ms + 1)
    with open_store(tmp_path) as store:
        assert Hourly(store).run_at(dead_ms + HOUR_MS) == 1


def test_dead_daily_job_waits_for_a_day(hourly: Hourly) -> None:
    daily = Duty(kind="hourly", do=hourly.duties[0].do, is_due=always, retries_after=timedelta(days=1))
    hourly.duties[:] = [daily]
    dead_ms = hourly.die()
    assert [hourly.run_at(dead_ms + after) for after in (DAY_MS - 1, DAY_MS)] == [0, 1]
