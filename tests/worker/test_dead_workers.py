"""Jobs of killed workers: the next worker runs them long before their leases end."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from loops.processes import dead_process, elsewhere
from opencode_memory import MemoryStore
from opencode_memory.store.jobs import LEASE_SECONDS
from opencode_memory.worker.dead_workers import free_jobs_of_dead_workers, name_worker
from opencode_memory.worker.duty import Duty
from support.stores import NOW_MS, SECOND_MS, set_clock
from support.worker_loop import MOST_ATTEMPTS, make_clock, work_until_idle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")


def claim(store: MemoryStore, worker: str) -> None:
    store.jobs.enqueue("task")
    assert store.jobs.claim(worker) is not None


def test_job_of_a_killed_worker_runs_after_a_short_pause(store: MemoryStore) -> None:
    ran: list[str] = []
    duty = Duty(kind="task", do=lambda work: ran.append(work.job.kind))
    claim(store, f"abc.{dead_process()}")
    work_until_idle(store, [duty])
    [job] = store.jobs.list()
    assert (ran, job.error, job.attempts) == ([], "the worker was killed", 1)
    pause = job.run_at - make_clock(store)()
    assert timedelta(0) < pause < timedelta(seconds=LEASE_SECONDS / 10)
    set_clock(store, NOW_MS + round(pause.total_seconds() * SECOND_MS))
    work_until_idle(store, [duty])
    assert (ran, store.jobs.list()) == (["task"], [])


def test_job_that_kills_its_workers_dies(store: MemoryStore) -> None:
    store.jobs.enqueue("task")
    killed = f"abc.{dead_process()}"
    for _ in range(MOST_ATTEMPTS):
        [job] = store.jobs.list()
        set_clock(store, round(job.run_at.timestamp() * 1000))
        assert store.jobs.claim(killed) is not None
        assert free_jobs_of_dead_workers(store, at=make_clock(store)()) == 1
    assert [job.dead_at is None for job in store.jobs.list()] == [False]


def test_job_whose_lease_ended_is_claimed_without_a_pause(store: MemoryStore) -> None:
    claim(store, f"abc.{dead_process()}")
    set_clock(store, NOW_MS + round(LEASE_SECONDS * SECOND_MS))
    assert free_jobs_of_dead_workers(store, at=make_clock(store)()) == 0
    assert store.jobs.claim("next") is not None


def test_job_of_a_worker_that_may_run_stays(store: MemoryStore) -> None:
    for worker in (name_worker(), f"abc.{elsewhere(dead_process())}", "4-abc", "abc.x-1-m", "abc.", "abc.1-2"):
        claim(store, worker)
        assert free_jobs_of_dead_workers(store, at=make_clock(store)()) == 0
        [job] = store.jobs.list()
        assert job.worker == worker
        assert store.jobs.done(job)
