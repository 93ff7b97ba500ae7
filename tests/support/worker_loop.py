"""Helpers that run the worker's loop in the test process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from opencode_memory import MemoryStore
from opencode_memory.errors import EmbeddingError
from opencode_memory.text.clock import to_ms
from opencode_memory.worker.duty import Duty, Work
from opencode_memory.worker.run import run_worker
from support.stores import set_clock

OpenStore = Callable[..., MemoryStore]


BAD = "xyzzy"


MOST_ATTEMPTS = 8


def make_clock(store: MemoryStore) -> Callable[[], datetime]:
    return lambda: datetime.fromtimestamp(store._engine.now_ms() / 1000, UTC)


def work_until_idle(store: MemoryStore, duties: Sequence[Duty], *, most: int = 300) -> int:
    """Run the worker's loop until no job is due; return the number of rounds with work."""
    rounds = 0

    def wait(seconds: float) -> bool:
        nonlocal rounds
        rounds += seconds == 0
        return seconds == 0 and rounds < most

    run_worker(store, duties, wait=wait, now=make_clock(store), lower_priority=False)
    assert rounds < most, "the worker never comes to rest"
    return rounds


def work_some(store: MemoryStore, duties: Sequence[Duty], *, rounds: int = 40) -> None:
    """Run the worker's loop for at most some rounds, even if jobs are still due."""
    left = iter(range(rounds))
    run_worker(
        store,
        duties,
        wait=lambda seconds: seconds == 0 and next(left, None) is not None,
        now=make_clock(store),
        lower_priority=False,
    )


def work_through_failures(store: MemoryStore, duties: Sequence[Duty]) -> None:
    """Advance the clock from attempt to attempt until no failed job has attempts left."""
    for _ in range(2 * MOST_ATTEMPTS):
        work_some(store, duties)
        retried = [job.run_at for job in store.jobs.list() if job.attempts and job.dead_at is None]
        if not retried:
            return
        set_clock(store, to_ms(min(retried)))


def fails_on_marker(batch: Sequence[str]) -> None:
    if any(BAD in text for text in batch):
        raise EmbeddingError(f"cannot embed {BAD}")


def make_duties(kind: str, do: Callable[[Work], datetime | None]) -> list[Duty]:
    return [Duty(kind=kind, do=do)]
