"""What a duty is: one kind of job, and how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from opencode_memory.store.jobs import Job

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


class LeaseLostError(Exception):
    """Another worker has the job by now; what was begun is left to it."""


class PostponedError(Exception):
    """The job cannot be done now, through no fault of its own; it is due again later.

    Args:
        reason: Why.
        seconds: How much later.
        is_warning: Whether a person should know.
    """

    def __init__(self, reason: str, *, seconds: float, is_warning: bool = False) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.is_warning = is_warning


class PermanentError(Exception):
    """Trying again cannot help."""


@dataclass(frozen=True, slots=True)
class Work:
    """A job in hand.

    Attributes:
        store: Where.
        job: What.
        at: The present moment.
        renew_lease: Extends the lease, between two steps of long work; raises ``LeaseLostError`` when it is lost.
    """

    store: MemoryStore
    job: Job
    at: datetime
    renew_lease: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """One kind of job.

    Attributes:
        kind: Its name in the queue.
        do: Does one job; returns when it is due again, None for never.
        is_due: Says whether a job has to be asked for; None for jobs that others ask for.
    """

    kind: str
    do: Callable[[Work], datetime | None]
    is_due: Callable[[MemoryStore], bool] | None = None


def repeat_every(period: timedelta, do: Callable[[Work], object]) -> Callable[[Work], datetime]:
    """Make work that is due again after a period, counted from when it was begun."""

    def repeated(work: Work) -> datetime:
        do(work)
        return work.at + period

    return repeated


def always(_store: MemoryStore) -> bool:
    """Say that a recurring job belongs into the queue."""
    return True
