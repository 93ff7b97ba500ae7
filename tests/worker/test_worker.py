"""Worker loop: failures, order of jobs, and recurring jobs."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, NoReturn

import pytest

from opencode_memory import BusyError, MemoryStore, Status, StorageError
from opencode_memory.platform import system
from opencode_memory.store.jobs import LEASE_SECONDS, Job
from opencode_memory.worker.duties import maintenance_duties
from opencode_memory.worker.duty import Duty, LeaseLostError, PermanentError, PostponedError, Work, always, repeat_every
from opencode_memory.worker.run import Postponements, run_next_job, run_worker
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock
from support.worker_loop import (
    MOST_ATTEMPTS,
    OpenStore,
    make_clock,
    make_duties,
    work_through_failures,
    work_until_idle,
)


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nor can this be said")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        OSError(28, "No space left on device"),
        StorageError("the disk refused", path="x"),
        MemoryError(),
        RecursionError("too deep"),
        TimeoutError(),
        StopIteration(),
        ExceptionGroup("several", [ValueError("a"), KeyError("b")]),
        Exception("x" * 100_000),
        Exception("two\nlines\0and a NUL"),
        BusyError("the store is held"),
        PermanentError("never"),
        PostponedError("later", seconds=60),
        LeaseLostError("taken"),
        pytest.param(ValueError("cannot read caf\udce9.md"), id="half-a-surrogate-pair"),
        pytest.param(_UnspeakableError(), id="no-text"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exception_in_a_duty_does_not_end_the_worker(store: MemoryStore, error: Exception) -> None:
    done: list[str] = []

    def do(work: Work) -> None:
        if work.job.subject == "bad":
            raise error
        done.append(work.job.subject)

    for subject in ("bad", "good", "better"):
        store.jobs.enqueue("task", subject)
    work_until_idle(store, make_duties("task", do))
    assert done == ["good", "better"]
    assert [job.subject for job in store.jobs.list()] == ["bad"]


def test_check_that_fails_ends_neither_the_worker_nor_other_checks(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def fail(_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", "/work/app")

    duties = [
        Duty(kind="bad", do=fail, is_due=fail),
        Duty(kind="good", do=lambda work: done.append(work.job.kind), is_due=lambda _: not done),
    ]
    work_until_idle(store, duties)
    assert done == ["good"]
    [job] = store.jobs.list()
    assert (job.kind, job.error) == ("bad", "PermissionError: [Errno 13] Permission denied: '/work/app'")
    assert "the check for jobs (bad) failed: PermissionError" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupt_ends_the_worker_and_keeps_the_job(store: MemoryStore, error: type[BaseException]) -> None:
    begun: list[str] = []

    def do(work: Work) -> None:
        begun.append(work.job.subject)
        if len(begun) == 1:
            raise error

    for subject in "ab":
        store.jobs.enqueue("task", subject)
    with pytest.raises(error):
        work_until_idle(store, make_duties("task", do))
    assert begun == ["a"]
    set_clock(store, NOW_MS + round(LEASE_SECONDS * SECOND_MS))
    work_until_idle(store, make_duties("task", do))
    assert sorted(begun[1:]) == ["a", "b"]
    assert store.jobs.list() == []


def test_failing_job_is_retried_and_finally_dead_with_its_error(store: MemoryStore) -> None:
    tries: list[int] = []

    def do(work: Work) -> None:
        tries.append(work.job.attempts)
        raise KeyError("project")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, make_duties("task", do))
    assert tries == list(range(1, MOST_ATTEMPTS + 1))
    [job] = store.jobs.list()
    assert job.dead_at is not None
    assert job.error == "KeyError: 'project'"


def test_permanent_error_is_not_retried(store: MemoryStore) -> None:
    tries: list[int] = []

    def do(work: Work) -> None:
        tries.append(work.job.attempts)
        raise PermanentError("the key is refused")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, make_duties("task", do))
    assert tries == [1]
    assert [(job.error, job.dead_at is None) for job in store.jobs.list()] == [("the key is refused", False)]


def test_postponed_job_never_becomes_dead(store: MemoryStore) -> None:
    tries: list[datetime] = []

    def do(work: Work) -> None:
        tries.append(work.at)
        raise PostponedError("not now", seconds=60, is_warning=True)

    store.jobs.enqueue("task", "a")
    for minute in range(3 * MOST_ATTEMPTS):
        set_clock(store, NOW_MS + minute * 60 * SECOND_MS)
        work_until_idle(store, make_duties("task", do))
    assert len(tries) == 3 * MOST_ATTEMPTS
    [job] = store.jobs.list()
    assert (job.dead_at, job.attempts) == (None, 0)


def test_reason_of_a_postponed_job_is_logged_once(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    reasons = ["busy", "busy", "other", "other", None, "other"]
    postponements = Postponements()

    def do(_work: Work) -> None:
        if (reason := reasons.pop(0)) is not None:
            raise PostponedError(reason, seconds=0)

    duties = {duty.kind: duty for duty in make_duties("task", do)}
    with caplog.at_level(logging.INFO):
        while reasons:
            store.jobs.enqueue("task", "a")
            assert run_next_job(store, duties, worker="w", now=make_clock(store), postponements=postponements)
    told = [record.getMessage().rpartition(": ")[2] for record in caplog.records if "postponed" in record.message]
    assert told == ["busy", "other", "other"]


def test_busy_store_postpones_a_job(store: MemoryStore) -> None:
    failures = iter([True])

    def do(_: Work) -> None:
        if next(failures, False):
            raise BusyError("the store is held")

    store.jobs.enqueue("task", "a")
    work_until_idle(store, make_duties("task", do))
    [job] = store.jobs.list()
    assert job.run_at - make_clock(store)() < timedelta(seconds=5)
    set_clock(store, NOW_MS + 5 * SECOND_MS)
    work_until_idle(store, make_duties("task", do))
    assert store.jobs.list() == []


def test_permanently_busy_store_fails_no_job(store: MemoryStore) -> None:
    def do(_: Work) -> None:
        raise BusyError("the store is held")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, make_duties("task", do))
    [job] = store.jobs.list()
    assert job.dead_at is None


def test_full_disk_does_not_end_the_worker(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store.jobs.claim
    failures = iter([True])
    pauses: list[float] = []
    done: list[str] = []

    def refused(*arguments: Any, **options: Any) -> Any:
        if next(failures, False):
            raise StorageError("cannot write: no space left on the device", path="store.db")
        return real(*arguments, **options)

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return not done

    store.jobs.enqueue("task", "a")
    monkeypatch.setattr(store.jobs, "claim", refused)
    run_worker(store, make_duties("task", lambda work: done.append(work.job.subject)), wait=wait, lower_priority=False)
    assert done == ["a"]
    assert pauses[0] >= 10


@pytest.mark.parametrize(
    ("step", "error"), [("done", None), ("failed", ValueError("no")), ("failed", PermanentError("never"))]
)
@pytest.mark.parametrize("refusal", [StorageError("the disk is full", path="store.db"), BusyError("the store is held")])
def test_result_that_cannot_be_written_is_written_later_and_its_job_is_not_repeated(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception | None, refusal: Exception
) -> None:
    real = getattr(store.jobs, step)
    refusals = iter([True, True])
    done: list[str] = []

    def refuse(*arguments: Any, **options: Any) -> Any:
        if next(refusals, False):
            raise refusal
        return real(*arguments, **options)

    def do(work: Work) -> None:
        done.append(work.job.subject)
        if error is not None and work.job.subject == "a":
            raise error

    def wait(_: float) -> bool:
        # The clock stands still, so no lease ends.
        return next(rounds, None) is not None

    rounds = iter(range(5))
    monkeypatch.setattr(store.jobs, step, refuse)
    for subject in "ab":
        store.jobs.enqueue("task", subject)
    run_worker(store, make_duties("task", do), wait=wait, now=make_clock(store), lower_priority=False)
    assert done == ["a", "b"]
    left = [(job.subject, job.lease_until, bool(job.error)) for job in store.jobs.list()]
    assert left == ([] if error is None else [("a", None, True)])


@pytest.mark.parametrize("step", ["has", "claim", "done", "enqueue"])
def test_busy_store_between_jobs_does_not_end_the_worker(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real = getattr(store.jobs, step)
    failures = iter([True, True])

    def busy(*arguments: Any, **options: Any) -> Any:
        if next(failures, False):
            raise BusyError("the store is held")
        return real(*arguments, **options)

    done: list[str] = []
    duties = [Duty(kind="task", do=lambda work: done.append(work.job.subject), is_due=lambda _: not done)]
    rounds = iter(range(20))

    def wait(_: float) -> bool:
        set_clock(store, store._engine.now_ms() + round(LEASE_SECONDS * SECOND_MS))
        return next(rounds, None) is not None

    monkeypatch.setattr(store.jobs, step, busy)
    run_worker(store, duties, wait=wait, now=make_clock(store), lower_priority=False)
    assert done
    assert store.jobs.list() == []


def test_secret_in_an_error_is_neither_stored_nor_logged(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    secret = "ghp_" + "a1B2" * 9

    def do(_: Work) -> None:
        raise RuntimeError(f"401 for {secret}")

    store.jobs.enqueue("task", "a")
    with caplog.at_level(logging.INFO):
        work_until_idle(store, make_duties("task", do))
    assert secret not in str(store.jobs.list())
    assert secret not in caplog.text


def test_worker_that_lost_its_lease_stops_the_job(store: MemoryStore) -> None:
    others: list[Job] = []
    after: list[str] = []

    def do(work: Work) -> None:
        set_clock(store, NOW_MS + round(LEASE_SECONDS * SECOND_MS))
        job = store.jobs.claim("other")
        assert job is not None
        others.append(job)
        work.renew_lease()
        after.append("went on")

    store.jobs.enqueue("task", "a")
    assert run_next_job(store, {"task": make_duties("task", do)[0]}, worker="first", now=make_clock(store))
    assert after == []
    assert [job.worker for job in store.jobs.list()] == ["other"]
    assert store.jobs.done(others[0])


def test_long_duty_that_renews_its_lease_runs_once(store: MemoryStore) -> None:
    def do(work: Work) -> None:
        for step in range(10):
            set_clock(store, NOW_MS + round(step * (LEASE_SECONDS - 1) * SECOND_MS))
            work.renew_lease()
            assert store.jobs.claim("other") is None

    store.jobs.enqueue("task", "a")
    work_until_idle(store, make_duties("task", do))
    assert store.jobs.list() == []


def test_many_jobs_of_a_kind_do_not_starve_recurring_jobs(store: MemoryStore) -> None:
    order: list[str] = []

    def do(work: Work) -> None:
        order.append(work.job.kind)

    def do_daily(work: Work) -> datetime:
        do(work)
        return work.at + timedelta(days=1)

    for number in range(200):
        store.jobs.enqueue("notes", f"{number}.md")
    duties = [Duty(kind="notes", do=do)]
    duties += [Duty(kind=kind, do=do_daily, is_due=always) for kind in ("embed", "age", "purge")]
    work_until_idle(store, duties)
    assert set(order[:4]) == {"notes", "embed", "age", "purge"}
    assert order.count("notes") == 200
    assert len(order) == 203


def test_failing_jobs_do_not_starve_others(store: MemoryStore) -> None:
    done: list[str] = []

    def do(work: Work) -> None:
        if work.job.subject != "good":
            raise ValueError("no")
        done.append(work.job.subject)

    for number in range(50):
        store.jobs.enqueue("task", f"bad {number}")
    store.jobs.enqueue("task", "good")
    work_until_idle(store, make_duties("task", do))
    assert done == ["good"]


def test_worker_ignores_jobs_without_a_duty(store: MemoryStore) -> None:
    store.jobs.enqueue("future kind", "x")
    assert work_until_idle(store, make_duties("task", lambda _: None)) == 0
    assert [(job.kind, job.attempts) for job in store.jobs.list()] == [("future kind", 0)]


def test_racing_threads_run_each_job_once(open_store: OpenStore) -> None:
    store = open_store()
    for number in range(150):
        store.jobs.enqueue("task" if number % 2 else "other", str(number))
    done: list[str] = []
    together = threading.Barrier(4)

    def run(_: int) -> None:
        together.wait()
        duties = [Duty(kind=kind, do=lambda work: done.append(work.job.subject)) for kind in ("task", "other")]
        work_until_idle(store, duties)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert sorted(done, key=int) == [str(number) for number in range(150)]
    assert store.jobs.list() == []


def test_recurring_job_is_due_after_its_period(store: MemoryStore) -> None:
    runs: list[str] = []
    hour = Duty(kind="hourly", do=repeat_every(timedelta(hours=1), lambda work: runs.append("h")), is_due=always)
    day = Duty(kind="daily", do=repeat_every(timedelta(days=1), lambda work: runs.append("d")), is_due=always)
    for hours in range(25):
        set_clock(store, NOW_MS + hours * 3600 * SECOND_MS)
        work_until_idle(store, [hour, day])
        work_until_idle(store, [hour, day])
    assert (runs.count("h"), runs.count("d")) == (25, 2)


def test_worker_runs_maintenance_and_becomes_idle(store: MemoryStore) -> None:
    store.remember("the port is 5128")
    work_until_idle(store, maintenance_duties())
    kinds = {job.kind for job in store.jobs.list()}
    assert kinds == {"purge", "compact", "age", "consolidate"}
    assert all(job.dead_at is None and job.error is None for job in store.jobs.list())
    assert work_until_idle(store, maintenance_duties()) == 0
    set_clock(store, NOW_MS + DAY_MS)
    assert work_until_idle(store, maintenance_duties()) == 4


@pytest.mark.timeout(60)  # A worker that waits for the other process waits for 120 s.
def test_compaction_is_put_off_while_another_process_writes_the_indexes(store: MemoryStore) -> None:
    def find_time() -> datetime:
        [job] = [job for job in store.jobs.list() if job.kind == "compact"]
        return job.run_at

    with (store.data_dir / "indexer.lock").open("ab") as indexer:
        assert system().try_lock(indexer.fileno())
        work_until_idle(store, maintenance_duties())
        now = make_clock(store)()
        assert find_time() == now + timedelta(seconds=60)
        with pytest.raises(BusyError):
            store.indexes.catch_up(waits=False)
        system().unlock(indexer.fileno())
    set_clock(store, NOW_MS + 60 * SECOND_MS)
    work_until_idle(store, maintenance_duties())
    assert find_time() == now + timedelta(days=1, seconds=60)


def test_worker_archives_aged_memories(store: MemoryStore) -> None:
    id = store.remember("we spoke of the registry", category="conversation").id
    set_clock(store, NOW_MS + 181 * DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert store.get(id).status == Status.ARCHIVED
    store.undo(id)
    assert store.get(id).status == Status.ACTIVE


def test_worker_purges_the_store(store: MemoryStore) -> None:
    store.kv.set("k", "v", ttl_seconds=60)
    set_clock(store, NOW_MS + DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert store.maintain() == (0, 0)
