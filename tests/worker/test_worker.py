"""The worker's loop and its duties, in this process: what fails, what waits, what comes back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import BusyError, MemoryStore, Status, StorageError
from opencode_memory.config.load import load
from opencode_memory.errors import EmbeddingError
from opencode_memory.store.jobs import LEASE_SECONDS, Job
from opencode_memory.text.clock import to_ms
from opencode_memory.worker.duties import EMBED, LINK, maintenance_duties
from opencode_memory.worker.duty import Duty, LeaseLostError, PermanentError, PostponedError, Work, always, repeat_every
from opencode_memory.worker.learning_duties import MEMORY_FILE, LearningDuties
from opencode_memory.worker.run import run_next_job, run_worker
from support.command_line import CommandLine
from support.embedders import ConstantEmbedder, DownEmbedder, HookedEmbedder
from support.memory_files import git
from support.stores import DAY_MS, NOW_MS, SECOND_MS, open_store, recalled, set_clock

OpenStore = Callable[..., MemoryStore]
BAD = "xyzzy"
MOST_ATTEMPTS = 8


def now_of(store: MemoryStore) -> Callable[[], datetime]:
    return lambda: datetime.fromtimestamp(store._engine.now_ms() / 1000, UTC)


def work_until_idle(store: MemoryStore, duties: Sequence[Duty], *, most: int = 300) -> int:
    """Run the worker's loop until nothing is due; returns how many rounds did something."""
    rounds = 0

    def wait(seconds: float) -> bool:
        nonlocal rounds
        rounds += seconds == 0
        return seconds == 0 and rounds < most

    run_worker(store, duties, wait=wait, now=now_of(store), lower_priority=False)
    assert rounds < most, "the worker never comes to rest"
    return rounds


def work_some(store: MemoryStore, duties: Sequence[Duty], *, rounds: int = 40) -> None:
    """Run the worker's loop for some rounds at most, whether it comes to rest or not."""
    left = iter(range(rounds))
    run_worker(
        store,
        duties,
        wait=lambda seconds: seconds == 0 and next(left, None) is not None,
        now=now_of(store),
        lower_priority=False,
    )


def work_through_failures(store: MemoryStore, duties: Sequence[Duty]) -> None:
    """Let the clock run from one attempt to the next until no job that failed is left to try."""
    for _ in range(2 * MOST_ATTEMPTS):
        work_some(store, duties)
        retried = [job.run_at for job in store.jobs.list() if job.attempts and job.dead_at is None]
        if not retried:
            return
        set_clock(store, to_ms(min(retried)))


def fails_on_marker(batch: Sequence[str]) -> None:
    if any(BAD in text for text in batch):
        raise EmbeddingError(f"cannot embed {BAD}")


def one(kind: str, do: Callable[[Work], datetime | None]) -> list[Duty]:
    return [Duty(kind=kind, do=do)]


# What a duty raises


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
def test_an_exception_in_a_duty_does_not_end_the_worker(store: MemoryStore, error: Exception) -> None:
    done: list[str] = []

    def do(work: Work) -> None:
        if work.job.subject == "bad":
            raise error
        done.append(work.job.subject)

    for subject in ("bad", "good", "better"):
        store.jobs.enqueue("task", subject)
    work_until_idle(store, one("task", do))
    assert done == ["good", "better"]
    assert [job.subject for job in store.jobs.list()] == ["bad"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_order_to_end_ends_the_worker_at_once_and_the_job_waits_for_another(
    store: MemoryStore, error: type[BaseException]
) -> None:
    begun: list[str] = []

    def do(work: Work) -> None:
        begun.append(work.job.subject)
        if len(begun) == 1:
            raise error

    for subject in "ab":
        store.jobs.enqueue("task", subject)
    with pytest.raises(error):
        work_until_idle(store, one("task", do))
    assert begun == ["a"]
    set_clock(store, NOW_MS + round(LEASE_SECONDS * SECOND_MS))
    work_until_idle(store, one("task", do))
    assert sorted(begun[1:]) == ["a", "b"]
    assert store.jobs.list() == []


def test_what_fails_is_tried_again_and_dead_in_the_end_with_its_error(store: MemoryStore) -> None:
    tries: list[int] = []

    def do(work: Work) -> None:
        tries.append(work.job.attempts)
        raise KeyError("project")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, one("task", do))
    assert tries == list(range(1, MOST_ATTEMPTS + 1))
    [job] = store.jobs.list()
    assert job.dead_at is not None
    assert job.error == "KeyError: 'project'"


def test_what_is_hopeless_is_not_tried_again(store: MemoryStore) -> None:
    tries: list[int] = []

    def do(work: Work) -> None:
        tries.append(work.job.attempts)
        raise PermanentError("the key is refused")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, one("task", do))
    assert tries == [1]
    assert [(job.error, job.dead_at is None) for job in store.jobs.list()] == [("the key is refused", False)]


def test_what_is_put_off_never_dies_of_it(store: MemoryStore) -> None:
    tries: list[datetime] = []

    def do(work: Work) -> None:
        tries.append(work.at)
        raise PostponedError("not now", seconds=60, is_warning=True)

    store.jobs.enqueue("task", "a")
    for minute in range(3 * MOST_ATTEMPTS):
        set_clock(store, NOW_MS + minute * 60 * SECOND_MS)
        work_until_idle(store, one("task", do))
    assert len(tries) == 3 * MOST_ATTEMPTS
    [job] = store.jobs.list()
    assert (job.dead_at, job.attempts) == (None, 0)


def test_a_busy_store_puts_a_job_off_for_a_moment(store: MemoryStore) -> None:
    failures = iter([True])

    def do(_: Work) -> None:
        if next(failures, False):
            raise BusyError("the store is held")

    store.jobs.enqueue("task", "a")
    work_until_idle(store, one("task", do))
    [job] = store.jobs.list()
    assert job.run_at - now_of(store)() < timedelta(seconds=5)
    set_clock(store, NOW_MS + 5 * SECOND_MS)
    work_until_idle(store, one("task", do))
    assert store.jobs.list() == []


def test_a_store_that_stays_busy_kills_no_job(store: MemoryStore) -> None:
    def do(_: Work) -> None:
        raise BusyError("the store is held")

    store.jobs.enqueue("task", "a")
    work_through_failures(store, one("task", do))
    [job] = store.jobs.list()
    assert job.dead_at is None


def test_a_full_disk_does_not_end_the_worker(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
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
    run_worker(store, one("task", lambda work: done.append(work.job.subject)), wait=wait, lower_priority=False)
    assert done == ["a"]
    assert pauses[0] >= 10


@pytest.mark.parametrize("step", ["has", "claim", "done", "enqueue"])
def test_a_store_that_is_busy_between_jobs_does_not_end_the_worker(
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
    run_worker(store, duties, wait=wait, now=now_of(store), lower_priority=False)
    assert done
    assert store.jobs.list() == []


def test_a_secret_in_an_error_is_neither_kept_nor_logged(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    secret = "ghp_" + "a1B2" * 9

    def do(_: Work) -> None:
        raise RuntimeError(f"401 for {secret}")

    store.jobs.enqueue("task", "a")
    with caplog.at_level(logging.INFO):
        work_until_idle(store, one("task", do))
    assert secret not in str(store.jobs.list())
    assert secret not in caplog.text


def test_a_worker_that_lost_its_job_notices_and_leaves_it_to_the_other(store: MemoryStore) -> None:
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
    assert run_next_job(store, {"task": one("task", do)[0]}, worker="first", now=now_of(store))
    assert after == []
    assert [job.worker for job in store.jobs.list()] == ["other"]
    assert store.jobs.done(others[0])


def test_a_long_duty_that_keeps_its_job_is_not_done_twice(store: MemoryStore) -> None:
    def do(work: Work) -> None:
        for step in range(10):
            set_clock(store, NOW_MS + round(step * (LEASE_SECONDS - 1) * SECOND_MS))
            work.renew_lease()
            assert store.jobs.claim("other") is None

    store.jobs.enqueue("task", "a")
    work_until_idle(store, one("task", do))
    assert store.jobs.list() == []


# Turns


def test_a_kind_with_many_jobs_does_not_starve_recurring_ones(store: MemoryStore) -> None:
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


def test_jobs_that_keep_failing_do_not_starve_those_that_do_not(store: MemoryStore) -> None:
    done: list[str] = []

    def do(work: Work) -> None:
        if work.job.subject != "good":
            raise ValueError("no")
        done.append(work.job.subject)

    for number in range(50):
        store.jobs.enqueue("task", f"bad {number}")
    store.jobs.enqueue("task", "good")
    work_until_idle(store, one("task", do))
    assert done == ["good"]


def test_a_worker_leaves_jobs_that_it_has_no_duty_for(store: MemoryStore) -> None:
    store.jobs.enqueue("future kind", "x")
    assert work_until_idle(store, one("task", lambda _: None)) == 0
    assert [(job.kind, job.attempts) for job in store.jobs.list()] == [("future kind", 0)]


def test_threads_that_race_for_jobs_do_each_once(open_store: OpenStore) -> None:
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


# What comes back


def test_recurring_jobs_come_back_after_their_period_and_not_before(store: MemoryStore) -> None:
    runs: list[str] = []
    hour = Duty(kind="hourly", do=repeat_every(timedelta(hours=1), lambda work: runs.append("h")), is_due=always)
    day = Duty(kind="daily", do=repeat_every(timedelta(days=1), lambda work: runs.append("d")), is_due=always)
    for hours in range(25):
        set_clock(store, NOW_MS + hours * 3600 * SECOND_MS)
        work_until_idle(store, [hour, day])
        work_until_idle(store, [hour, day])
    assert (runs.count("h"), runs.count("d")) == (25, 2)


def test_a_worker_keeps_a_store_in_order_and_comes_to_rest(store: MemoryStore) -> None:
    store.remember("the port is 5128")
    work_until_idle(store, maintenance_duties())
    kinds = {job.kind for job in store.jobs.list()}
    assert kinds == {"purge", "compact", "age", "consolidate"}
    assert all(job.dead_at is None and job.error is None for job in store.jobs.list())
    assert work_until_idle(store, maintenance_duties()) == 0
    set_clock(store, NOW_MS + DAY_MS)
    assert work_until_idle(store, maintenance_duties()) == 4


def test_ageing_is_a_job_of_the_worker(store: MemoryStore) -> None:
    id = store.remember("we spoke of the registry", category="conversation").id
    set_clock(store, NOW_MS + 181 * DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert store.get(id).status == Status.ARCHIVED
    store.undo(id)
    assert store.get(id).status == Status.ACTIVE


def test_purging_is_a_job_of_the_worker(store: MemoryStore) -> None:
    store.kv.set("k", "v", ttl_seconds=60)
    set_clock(store, NOW_MS + DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert store.maintain() == (0, 0)


# Embedding and linking


def test_what_waits_is_embedded_and_linked(store: MemoryStore) -> None:
    first = store.remember("We use pnpm in the shop repository").id
    second = store.remember("In the shop repository we use pnpm workspaces").id
    work_until_idle(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [found.memory.id for found in store.related(first)] == [second]
    assert store.links(["similar", "extends", "related"])


def test_more_than_a_batch_is_embedded_in_turns(store: MemoryStore) -> None:
    store.remember_many({"content": f"walrus{number} sits on rock{number}"} for number in range(600))
    work_until_idle(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [job for job in store.jobs.list() if job.kind in {EMBED, LINK}] == []


def test_a_worker_comes_to_rest_although_a_text_cannot_be_embedded(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    store.remember(f"the {BAD} one")
    store.remember("walrus")
    assert work_until_idle(store, maintenance_duties()) < 20


def test_a_text_that_cannot_be_embedded_keeps_no_other_waiting_and_has_a_job_of_its_own(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    bad = store.remember(f"the {BAD} one").id
    good = [store.remember(f"walrus number{number}").id for number in range(5)]
    work_some(store, maintenance_duties())
    [job] = [job for job in store.jobs.list() if job.kind == EMBED]
    assert job.subject == str(store.get(bad).key)
    assert job.error is not None
    assert BAD in job.error
    work_through_failures(store, maintenance_duties())
    [job] = [job for job in store.jobs.list() if job.kind == EMBED]
    assert (job.subject, job.dead_at is None) == (str(store.get(bad).key), False)
    later = store.remember("walrus and octopus").id
    work_some(store, maintenance_duties())
    assert store.stats().pending_embeddings == 1
    assert recalled(store, BAD) == [f"the {BAD} one"]
    assert {found.memory.id for found in store.related(later, limit=10)} == set(good)


def test_a_text_that_could_not_be_embedded_is_embedded_after_an_edit(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    id = store.remember(f"the {BAD} one").id
    work_through_failures(store, maintenance_duties())
    assert [job.kind for job in store.jobs.list() if job.dead_at is not None] == [EMBED]
    store.edit(id, content="the good one")
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()


@pytest.mark.parametrize("cure", ["edit", "delete", "purge"])
def test_the_dead_job_of_a_text_that_is_gone_goes_with_it(open_store: OpenStore, cure: str) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    id = store.remember(f"the {BAD} one").id
    work_through_failures(store, maintenance_duties())
    if cure == "edit":
        store.edit(id, content="the good one")
    else:
        getattr(store, cure)(id)
    set_clock(store, store._engine.now_ms() + 2 * DAY_MS)
    work_some(store, maintenance_duties())
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []


def test_a_revived_text_is_embedded_once_the_cause_is_gone(open_store: OpenStore) -> None:
    is_broken = True

    def hook(batch: Sequence[str]) -> None:
        if is_broken:
            fails_on_marker(batch)

    store = open_store(project="app", embedder=HookedEmbedder(hook))
    store.remember(f"the {BAD} one")
    store.remember("walrus")
    work_through_failures(store, maintenance_duties())
    is_broken = False
    assert store.jobs.revive() == 1
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [job for job in store.jobs.list() if job.kind == EMBED] == []


def test_several_texts_in_a_row_that_cannot_be_embedded_keep_no_other_waiting(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    store.remember_many({"content": f"{BAD} number{number}"} for number in range(6))
    store.remember_many({"content": f"walrus{number} sits"} for number in range(250))
    for minute in range(10):
        set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
        work_some(store, maintenance_duties())
    assert store.stats().pending_embeddings == 6


def test_a_model_that_is_out_of_order_puts_the_job_off_and_kills_none(
    open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = DownEmbedder()
    store = open_store(project="app", embedder=embedder)
    store.remember_many({"content": f"walrus{number}"} for number in range(40))
    with caplog.at_level(logging.WARNING):
        for minute in range(2 * MOST_ATTEMPTS):
            set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
            work_some(store, maintenance_duties())
    assert "out of order" in caplog.text
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []
    embedder.is_down = False
    set_clock(store, NOW_MS + DAY_MS // 2)
    work_some(store, maintenance_duties())
    work_through_failures(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()


def test_vectors_of_another_model_are_no_failure_of_any_job(open_store: OpenStore) -> None:
    with open_store(project="app") as first:
        first.remember("walrus")
        first.indexes.embed_pending()
    store = open_store(project="app", embedder=ConstantEmbedder(0.25), clock_ms=NOW_MS + 1)
    store.remember("octopus")
    for minute in range(2 * MOST_ATTEMPTS):
        set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
        work_some(store, maintenance_duties())
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []
    assert store.indexes.waits_for_vectors()


def test_a_worker_does_not_wait_for_another_process_that_embeds(open_store: OpenStore) -> None:
    second: list[MemoryStore] = []

    def while_embedding(batch: Sequence[str]) -> None:
        if second:
            assert second[0].indexes.embed_some(limit=10) is None

    store = open_store(project="app", embedder=HookedEmbedder(while_embedding))
    store.remember("walrus")
    second.append(open_store(project="app"))
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()


# Consolidating


def duplicates(store: MemoryStore, *trusts: str, **options: Any) -> list[str]:
    """Write near duplicates that are linked as such, a second apart, and return their ids."""
    # Two words in another order: the vector is the same, the statement is not.
    wordings = ["pnpm installs packages before jest runs", "jest runs before pnpm installs packages"]
    ids = []
    for number, (wording, trust) in enumerate(zip(wordings, trusts, strict=True)):
        set_clock(store, NOW_MS - DAY_MS + number * SECOND_MS)
        ids.append(store.remember(wording, trust=trust, **options).id)
    store.indexes.embed_pending()
    assert [link.kind for link in store.links(["similar"], project="*")] == ["similar"]
    set_clock(store, NOW_MS)
    return ids


def test_consolidation_archives_the_weaker_of_two_learned_memories(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ARCHIVED, Status.ACTIVE)
    store.undo(older)
    assert store.get(older).status == Status.ACTIVE


def test_consolidation_keeps_what_a_person_or_an_agent_wrote(store: MemoryStore) -> None:
    for project, trusts in (("a", ("user", "user")), ("b", ("agent", "agent")), ("c", ("user", "agent"))):
        wordings = ["pnpm installs packages before jest runs", "jest runs before pnpm installs packages"]
        for wording, trust in zip(wordings, trusts, strict=True):
            store.remember(wording, trust=trust, project=project)
    store.indexes.embed_pending()
    assert len(store.links(["similar"], project="*")) == 3
    work_until_idle(store, maintenance_duties())
    assert store.count(project="*") == 6


@pytest.mark.parametrize("trust", ["user", "agent"])
@pytest.mark.parametrize("learned_first", [True, False])
def test_consolidation_prefers_what_was_written_to_what_was_learned(
    store: MemoryStore, trust: str, learned_first: bool
) -> None:
    trusts = ("extracted", trust) if learned_first else (trust, "extracted")
    ids = duplicates(store, *trusts)
    work_until_idle(store, maintenance_duties())
    assert [memory.id for memory in store.list()] == [ids[trusts.index(trust)]]


def test_consolidation_leaves_a_pinned_memory(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    store.pin(older)
    work_until_idle(store, maintenance_duties())
    assert store.get(older).status == Status.ACTIVE
    assert store.get(newer).status == Status.ARCHIVED


def test_consolidation_prefers_what_the_person_confirmed(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    set_clock(store, NOW_MS - DAY_MS)
    store.edit(older, verified=True)
    set_clock(store, NOW_MS - DAY_MS // 2)
    store.edit(newer, tags=["later"])
    set_clock(store, NOW_MS)
    work_until_idle(store, maintenance_duties())
    assert store.get(older).status == Status.ACTIVE


@pytest.mark.parametrize("bring_back", ["undo", "restore"])
def test_what_a_person_brought_back_from_consolidation_stays_and_nothing_goes_in_its_place(
    store: MemoryStore, bring_back: str
) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    work_until_idle(store, maintenance_duties())
    getattr(store, bring_back)(older)
    set_clock(store, NOW_MS + DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ACTIVE, Status.ACTIVE)


def test_consolidation_leaves_what_was_a_duplicate_before_it_was_edited(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    store.edit(older, content="the billing service listens on 5128")
    store.indexes.embed_pending()
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ACTIVE, Status.ACTIVE)


def test_consolidation_never_decides_a_contradiction(store: MemoryStore) -> None:
    content = "squash the commits of a branch before the merge"
    for said in (content, f"never {content}"):
        store.remember(said, trust="extracted")
    store.indexes.embed_pending()
    assert [link.kind for link in store.links(["contradicts", "similar"])] == ["contradicts"]
    work_until_idle(store, maintenance_duties())
    assert store.count() == 2


# The file of a project


def file_duties(store: MemoryStore, tmp_path: Path, **settings: str) -> tuple[Duty, ...]:
    changes = {f"OPENCODE_MEMORY_{key.upper()}": value for key, value in settings.items()}
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **changes}
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    config = load(environment=environment)
    return tuple(duty for duty in LearningDuties(store, config).duties() if duty.kind == MEMORY_FILE)


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def ask(store: MemoryStore, work_tree: Path) -> None:
    store.jobs.enqueue(MEMORY_FILE, str(work_tree), payload={"project": "app"})


def test_the_file_of_a_project_is_not_created_without_consent(
    store: MemoryStore, work_tree: Path, tmp_path: Path
) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert not (work_tree / ".opencode").exists()
    assert store.jobs.list() == []


def test_the_file_of_a_project_is_created_when_the_configuration_consents(
    store: MemoryStore, work_tree: Path, tmp_path: Path
) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path, memory_file="auto"))
    assert "the port is 5128" in (work_tree / ".opencode" / "MEMORY.md").read_text()


def test_a_file_that_was_consented_to_is_kept_up_to_date(store: MemoryStore, work_tree: Path, tmp_path: Path) -> None:
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path, memory_file="auto"))
    store.remember("jest runs before the merge", category="convention")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert "jest runs before the merge" in (work_tree / ".opencode" / "MEMORY.md").read_text()


def test_a_file_that_a_person_wrote_is_not_touched_without_consent(
    store: MemoryStore, work_tree: Path, tmp_path: Path
) -> None:
    path = work_tree / ".opencode" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("# Mine\n")
    store.remember("the port is 5128", category="decision")
    ask(store, work_tree)
    work_until_idle(store, file_duties(store, tmp_path))
    assert path.read_text() == "# Mine\n"


def test_there_is_no_duty_for_the_file_when_it_is_off(store: MemoryStore, tmp_path: Path) -> None:
    assert file_duties(store, tmp_path, memory_file="off") == ()


def test_a_work_tree_that_is_gone_costs_one_job_and_creates_nothing(
    store: MemoryStore, work_tree: Path, tmp_path: Path
) -> None:
    ask(store, tmp_path / "gone")
    work_through_failures(store, file_duties(store, tmp_path, memory_file="auto"))
    assert not (tmp_path / "gone").exists()


# What a person sees


def dead_job(cli: CommandLine, *, subject: str = "a.md", error: str = "ValueError: no") -> Path:
    cli.remember("walrus")
    data_dir = cli.folder.parent / "data" / "opencode-memory" / "store"
    with open_store(data_dir) as store:
        store.jobs.enqueue("notes", subject)
        job = store.jobs.claim("w", kinds=["notes"])
        assert job is not None
        store.jobs.failed(job, error, is_final=True)
    return data_dir


def test_an_empty_queue_is_said_to_be_empty(cli: CommandLine) -> None:
    answer = cli.ok("jobs")
    assert "There are no jobs" in answer.err + answer.out


def test_what_failed_for_good_is_shown_with_its_error_and_exit_code_1(cli: CommandLine) -> None:
    dead_job(cli)
    answer = cli("jobs")
    assert answer.code == 1
    assert "failed" in answer.out
    assert "a.md" in answer.out
    assert "ValueError: no" in answer.out


def test_jobs_in_json_hold_what_a_program_needs(cli: CommandLine) -> None:
    dead_job(cli)
    answer = cli("jobs", "--json")
    assert answer.code == 1
    assert answer.json["revived"] == 0
    [job] = answer.json["jobs"]
    assert (job["kind"], job["subject"], job["error"]) == ("notes", "a.md", "ValueError: no")
    assert job["dead_at"] is not None


def test_retry_revives_what_failed_for_good(cli: CommandLine) -> None:
    data_dir = dead_job(cli)
    answer = cli.ok("jobs", "--retry", "--json")
    assert answer.json["revived"] == 1
    assert [job["dead_at"] for job in answer.json["jobs"]] == [None]
    done: list[str] = []
    with open_store(data_dir, clock_ms=None) as store:
        duty = Duty(kind="notes", do=lambda work: done.append(work.job.subject))
        assert run_next_job(store, {"notes": duty}, worker="w")
    assert done == ["a.md"]
    assert cli.ok("jobs", "--json").json["jobs"] == []


def test_what_waits_is_no_reason_for_an_exit_code(cli: CommandLine) -> None:
    data_dir = dead_job(cli)
    cli.ok("jobs", "--retry")
    with open_store(data_dir) as store:
        store.jobs.enqueue("notes", "later.md", delay_seconds=10**6)
    assert "later.md" in cli.ok("jobs").out
