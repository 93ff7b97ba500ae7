"""The job queue: leases, order, pauses and ends, with a clock that the tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencode_memory import InvalidInputError, MemoryStore, OpencodeMemoryError
from opencode_memory.store.jobs import LEASE_SECONDS, Job
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock

MOST_ATTEMPTS = 8
LEASE_MS = round(LEASE_SECONDS * SECOND_MS)
OpenStore = Callable[..., MemoryStore]


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def claimed(store: MemoryStore, worker: str = "w", **options: Any) -> Job:
    job = store.jobs.claim(worker, **options)
    assert job is not None
    return job


def drained(store: MemoryStore) -> Iterator[Job]:
    while (job := store.jobs.claim("w")) is not None:
        yield job
        assert store.jobs.done(job)


def test_job_is_claimed_once_and_removed_when_done(store: MemoryStore) -> None:
    number = store.jobs.enqueue("notes", "a.md", payload={"why": ["it", "changed"]})
    job = claimed(store, "first")
    assert (job.id, job.kind, job.subject, job.payload) == (number, "notes", "a.md", {"why": ["it", "changed"]})
    assert (job.worker, job.attempts, job.lease_until) == ("first", 1, at(NOW_MS + LEASE_MS))
    assert store.jobs.claim("second") is None
    assert store.jobs.done(job)
    assert store.jobs.list() == []
    assert not store.jobs.done(job)


def test_waiting_job_is_queued_once_with_the_earliest_due_time(store: MemoryStore) -> None:
    number = store.jobs.enqueue("notes", "a.md", delay_seconds=100)
    assert store.jobs.enqueue("notes", "a.md", delay_seconds=10) == number
    assert store.jobs.enqueue("notes", "a.md", delay_seconds=1000) == number
    assert [job.run_at for job in store.jobs.list()] == [at(NOW_MS + 10 * SECOND_MS)]
    assert store.jobs.next_at() == at(NOW_MS + 10 * SECOND_MS)
    assert store.jobs.claim("w") is None
    set_clock(store, NOW_MS + 10 * SECOND_MS)
    assert claimed(store).id == number


def test_job_enqueued_while_running_runs_once_more(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    job = claimed(store)
    for _ in range(3):
        store.jobs.enqueue("notes", "a.md")
    assert store.jobs.claim("other") is None
    assert store.jobs.done(job)
    again = claimed(store)
    assert (again.id, again.attempts) == (job.id, 1)
    assert store.jobs.done(again)
    assert store.jobs.list() == []


def test_job_enqueued_during_a_recurring_run_is_due_at_once(store: MemoryStore) -> None:
    store.jobs.enqueue("read")
    job = claimed(store)
    store.jobs.enqueue("read")
    assert store.jobs.done(job, again_at=at(NOW_MS + DAY_MS))
    again = claimed(store)
    assert store.jobs.done(again, again_at=at(NOW_MS + DAY_MS))
    assert store.jobs.claim("w") is None
    assert store.jobs.next_at() == at(NOW_MS + DAY_MS)


def test_new_arguments_that_come_while_a_job_is_done_are_those_of_the_next_time(store: MemoryStore) -> None:
    store.jobs.enqueue("file", "shop", payload={"project": "old"})
    job = claimed(store)
    store.jobs.enqueue("file", "shop", payload={"project": "new"})
    store.jobs.done(job)
    assert claimed(store).payload == {"project": "new"}


def test_late_end_of_an_expired_lease_is_ignored(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    late = claimed(store, "late")
    set_clock(store, NOW_MS + LEASE_MS - 1)
    assert store.jobs.claim("other") is None
    set_clock(store, NOW_MS + LEASE_MS)
    taken = claimed(store, "other")
    assert (taken.id, taken.attempts, taken.worker) == (late.id, 2, "other")
    before = store.jobs.list()
    assert not store.jobs.renew(late)
    assert not store.jobs.done(late)
    assert not store.jobs.done(late, again_at=at(NOW_MS + DAY_MS))
    assert not store.jobs.failed(late, "too late")
    assert not store.jobs.failed(late, "too late", is_final=True)
    assert store.jobs.list() == before
    assert store.jobs.done(taken)
    assert store.jobs.list() == []


def test_a_renewed_lease_keeps_the_job(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    job = claimed(store, "slow")
    set_clock(store, NOW_MS + LEASE_MS - 1)
    assert store.jobs.renew(job)
    set_clock(store, NOW_MS + 2 * LEASE_MS - 2)
    assert store.jobs.claim("other") is None
    assert store.jobs.done(job)


def test_a_worker_that_is_late_but_not_replaced_may_still_end_its_job(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    job = claimed(store, "slow")
    set_clock(store, NOW_MS + 10 * LEASE_MS)
    assert store.jobs.renew(job)
    assert store.jobs.claim("other") is None
    assert store.jobs.done(job)


def test_failures_are_tried_again_after_pauses_that_double_until_the_job_is_dead(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    now = NOW_MS
    pauses = []
    for attempt in range(1, MOST_ATTEMPTS + 1):
        job = claimed(store)
        assert job.attempts == attempt
        assert store.jobs.failed(job, f"failure {attempt}")
        [left] = store.jobs.list()
        assert (left.error, left.worker, left.lease_until) == (f"failure {attempt}", None, None)
        if left.dead_at is None:
            pauses.append(round((left.run_at - at(now)).total_seconds()))
            set_clock(store, now + pauses[-1] * SECOND_MS - 1)
            assert store.jobs.claim("w") is None
            now += pauses[-1] * SECOND_MS
            set_clock(store, now)
    assert pauses == [5, 10, 20, 40, 80, 160, 320]
    [dead] = store.jobs.list()
    assert dead.dead_at == at(now)
    set_clock(store, now + 400 * DAY_MS)
    assert store.jobs.claim("w") is None
    assert store.jobs.next_at() is None
    assert [(one.kind, one.waiting, one.running, one.dead) for one in store.jobs.counts()] == [("notes", 0, 0, 1)]


def test_a_success_forgets_earlier_failures(store: MemoryStore) -> None:
    store.jobs.enqueue("read")
    store.jobs.failed(claimed(store), "once", retry_after_seconds=0)
    store.jobs.done(claimed(store), again_at=at(NOW_MS + DAY_MS))
    [job] = store.jobs.list()
    assert (job.attempts, job.error, job.run_at) == (0, None, at(NOW_MS + DAY_MS))


def test_dead_job_stays_dead_until_revived_or_changed(store: MemoryStore) -> None:
    number = store.jobs.enqueue("file", "shop", payload={"project": "a"})
    store.jobs.failed(claimed(store), "no", is_final=True)
    assert store.jobs.enqueue("file", "shop", payload={"project": "a"}) == number
    assert store.jobs.claim("w") is None
    store.jobs.enqueue("file", "shop", payload={"project": "b"})
    job = claimed(store)
    assert (job.id, job.attempts) == (number, 1)
    store.jobs.failed(job, "still no", is_final=True)
    assert store.jobs.revive() == 1
    assert claimed(store).attempts == 1


def test_one_dead_job_is_revived_by_its_number(store: MemoryStore) -> None:
    numbers = [store.jobs.enqueue("notes", name) for name in ("a.md", "b.md")]
    for _ in numbers:
        store.jobs.failed(claimed(store), "no", is_final=True)
    assert store.jobs.revive(numbers[1]) == 1
    assert store.jobs.revive(numbers[1]) == 0
    assert store.jobs.revive(12_345) == 0
    assert claimed(store).id == numbers[1]
    assert store.jobs.claim("w") is None


def test_a_revived_job_does_not_listen_to_the_worker_that_let_it_die(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    job = claimed(store, "late")
    store.jobs.failed(job, "no", is_final=True)
    store.jobs.revive()
    assert not store.jobs.done(job)
    assert not store.jobs.failed(job, "again", is_final=True)
    assert claimed(store, "other").worker == "other"


def test_a_job_that_kills_every_worker_is_dead_in_the_end_and_says_so(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "killer.md")
    store.jobs.enqueue("notes", "harmless.md", delay_seconds=10 * MOST_ATTEMPTS * LEASE_SECONDS)
    last = None
    for attempt in range(MOST_ATTEMPTS):
        set_clock(store, NOW_MS + attempt * LEASE_MS)
        last = claimed(store, f"victim {attempt}")
    set_clock(store, NOW_MS + MOST_ATTEMPTS * LEASE_MS)
    assert store.jobs.claim("next") is None
    dead = store.jobs.list()[0]
    assert (dead.subject, dead.error) == ("killer.md", "every worker that had it died")
    assert dead.dead_at is not None
    assert last is not None
    assert not store.jobs.done(last)
    assert store.jobs.list()[0] == dead


def test_a_kind_with_many_jobs_does_not_starve_others(store: MemoryStore) -> None:
    for number in range(100):
        store.jobs.enqueue("notes", f"{number:03}.md")
    for kind in ("embed", "link", "purge"):
        store.jobs.enqueue(kind)
    order = [job.kind for job in drained(store)]
    assert sorted(order[:4]) == ["embed", "link", "notes", "purge"]
    assert order[4:] == ["notes"] * 99


def test_a_kind_that_always_comes_back_at_once_does_not_starve_others(store: MemoryStore) -> None:
    store.jobs.enqueue("greedy")
    store.jobs.enqueue("modest")
    served = []
    for _ in range(4):
        job = claimed(store)
        served.append(job.kind)
        store.jobs.done(job, again_at=at(NOW_MS))
    assert served == ["greedy", "modest"] * 2


def test_within_a_kind_the_job_that_was_due_first_comes_first(store: MemoryStore) -> None:
    for subject, delay in (("third", 30), ("first", 10), ("second", 20)):
        store.jobs.enqueue("notes", subject, delay_seconds=delay)
    set_clock(store, NOW_MS + 60 * SECOND_MS)
    assert [job.subject for job in drained(store)] == ["first", "second", "third"]


def test_a_worker_gets_only_the_kinds_that_it_asks_for(store: MemoryStore) -> None:
    store.jobs.enqueue("embed")
    store.jobs.enqueue("notes", "a.md")
    assert claimed(store, kinds=("notes", "file")).kind == "notes"
    assert store.jobs.claim("w", kinds=("notes", "file")) is None
    assert claimed(store).kind == "embed"


def test_jobs_are_listed_dead_first_then_by_due_time(store: MemoryStore) -> None:
    store.jobs.enqueue("a")
    store.jobs.failed(claimed(store), "no", is_final=True)
    store.jobs.enqueue("c", delay_seconds=20)
    store.jobs.enqueue("b", delay_seconds=10)
    assert [job.kind for job in store.jobs.list()] == ["a", "b", "c"]
    assert [job.kind for job in store.jobs.list(limit=2)] == ["a", "b"]


def test_counts_tell_waiting_running_and_dead_apart(store: MemoryStore) -> None:
    for subject in "abc":
        store.jobs.enqueue("notes", subject)
    store.jobs.failed(claimed(store), "no", is_final=True)
    claimed(store)
    assert [(one.kind, one.waiting, one.running, one.dead) for one in store.jobs.counts()] == [("notes", 1, 1, 1)]
    set_clock(store, NOW_MS + LEASE_MS)
    assert [(one.kind, one.waiting, one.running, one.dead) for one in store.jobs.counts()] == [("notes", 2, 0, 1)]


def test_an_error_is_kept_without_secrets_and_not_for_its_length(store: MemoryStore) -> None:
    secret = "ghp_" + "a1B2" * 9
    store.jobs.enqueue("notes", "a.md")
    store.jobs.failed(claimed(store), f"refused {secret} " + "x" * 10_000)
    [job] = store.jobs.list()
    assert job.error is not None
    assert secret not in job.error
    assert job.error.startswith("refused ")
    assert len(job.error) <= 500


def test_job_error_with_lone_surrogates_is_stored(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    assert store.jobs.failed(claimed(store), "cannot read caf\udce9.md\0")
    [job] = store.jobs.list()
    assert job.error is not None
    assert "cannot read caf" in job.error


@pytest.mark.parametrize(
    ("kind", "subject", "payload", "message"),
    [
        ("", "", {}, "kind: is empty"),
        ("k" * 10_000, "", {}, "kind: has 10000 characters; at most 512"),
        ("notes", "s" * 10_000, {}, "subject: has 10000 characters; at most 512"),
        ("notes", "\udce9", {}, "subject: "),
        ("notes", "ghp_" + "a1B2" * 9, {}, "subject: "),
        ("notes", "", {"x": "y" * 100_000}, "payload: has 100009 bytes as JSON; at most 65536"),
        ("notes", "", {"x": object()}, "payload: "),
        ("notes", "", {"x": float("nan")}, "payload: "),
        (None, "", {}, "kind: "),
        ("notes", 7, {}, "subject: "),
    ],
)
def test_a_job_that_cannot_be_kept_is_refused(
    store: MemoryStore, kind: Any, subject: Any, payload: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        store.jobs.enqueue(kind, subject, payload=payload)
    assert store.jobs.list() == []


@pytest.mark.parametrize("seconds", [0, -1, 2 * 86_400])
def test_a_lease_has_limits(store: MemoryStore, seconds: float) -> None:
    store.jobs.enqueue("notes", "a.md")
    with pytest.raises(InvalidInputError, match="lease_seconds: must be more than 0 and at most 86400"):
        store.jobs.claim("w", lease_seconds=seconds)
    assert claimed(store).attempts == 1


def test_read_only_store_lists_jobs_and_refuses_claims(open_store: OpenStore) -> None:
    open_store().jobs.enqueue("notes", "a.md")
    reader = open_store(read_only=True)
    assert [job.subject for job in reader.jobs.list()] == ["a.md"]
    with pytest.raises(OpencodeMemoryError):
        reader.jobs.claim("w")


def test_the_queue_survives_the_store_being_closed(open_store: OpenStore) -> None:
    with open_store() as first:
        first.jobs.enqueue("notes", "a.md")
        job = claimed(first, "gone")
    later = open_store(clock_ms=NOW_MS + LEASE_MS)
    again = claimed(later, "next")
    assert (again.id, again.attempts, again.created_at) == (job.id, 2, job.created_at)


def test_empty_request_writes_nothing(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md", delay_seconds=timedelta(days=1).total_seconds())
    path = store.data_dir / "store.db-wal"
    before = path.stat().st_size if path.exists() else 0
    for _ in range(100):
        assert store.jobs.claim("w") is None
    assert (path.stat().st_size if path.exists() else 0) == before


def test_idle_worker_does_not_write_for_dead_or_running_jobs(store: MemoryStore) -> None:
    for subject in "ab":
        store.jobs.enqueue("notes", subject)
    store.jobs.failed(claimed(store), "no", is_final=True)
    claimed(store)
    path = store.data_dir / "store.db-wal"
    before = path.stat().st_size
    for _ in range(100):
        assert store.jobs.claim("other") is None
    assert path.stat().st_size == before


def test_worker_without_the_due_duty_writes_nothing(store: MemoryStore) -> None:
    store.jobs.enqueue("notes", "a.md")
    path = store.data_dir / "store.db-wal"
    before = path.stat().st_size
    for _ in range(100):
        assert store.jobs.claim("other", kinds=("embed",)) is None
    assert path.stat().st_size == before
