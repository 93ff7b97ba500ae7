"""Duties: each handles one kind of job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.store.jobs import Job
from opencode_memory.text import clock

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REFUSED_SECONDS: Final = 30.0
"""Pause after the file system refused to write our own files, most likely because the disk is full."""


_HOUR: Final = timedelta(hours=1)


class LeaseLostError(Exception):
    """The lease expired and another worker has the job, so this worker must stop working on it."""


class PostponedError(Exception):
    """The job cannot be done now, but nothing is wrong with it; it is due again later.

    Args:
        reason: The reason, for the log.
        seconds: Delay until the job is due again.
        is_warning: Whether to log the reason as a warning.
    """

    def __init__(self, reason: str, *, seconds: float, is_warning: bool = False) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.is_warning = is_warning


class PermanentError(Exception):
    """The job fails permanently, so retrying is useless."""


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed job.

    Attributes:
        store: The store.
        job: The job.
        at: The current time.
        renew_lease: Extends the lease between two steps of long work; raises ``LeaseLostError`` if the lease is lost.
    """

    store: MemoryStore
    job: Job
    at: datetime
    renew_lease: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Handler for one kind of job.

    Attributes:
        kind: Name of the kind in the queue.
        do: Does one job; returns when it is due again, or None.
        is_due: Returns whether a job has to be queued; None if other code queues the jobs.
        retries_after: Time after which a job that failed permanently is tried once more, if ``is_due`` is given.
    """

    kind: str
    do: Callable[[Work], datetime | None]
    is_due: Callable[[MemoryStore], bool] | None = None
    retries_after: timedelta = _HOUR


def repeat_every(period: timedelta, do: Callable[[Work], object]) -> Callable[[Work], datetime]:
    """Wrap a function so that its job is due again after a period, counted from its start."""

    def repeated(work: Work) -> datetime:
        do(work)
        return work.at + period

    return repeated


def look_every(seconds: float, finds_work: Callable[[MemoryStore], bool]) -> Callable[[MemoryStore], bool]:
    """Wrap a check for work so that it runs once per period.

    A recurring job would write its next time to the queue in every period, also while there is no work.

    Args:
        seconds: The period.
        finds_work: Returns whether there is work. It must not write.
    """
    looked_at: datetime | None = None

    def is_due(store: MemoryStore) -> bool:
        nonlocal looked_at
        at = clock.now()
        # A clock that was set back must not stop the checks.
        if looked_at is not None and timedelta(0) <= at - looked_at < timedelta(seconds=seconds):
            return False
        looked_at = at
        return finds_work(store)

    return is_due


def always(_store: MemoryStore) -> bool:
    """Return True, so that a recurring job is always in the queue."""
    return True
