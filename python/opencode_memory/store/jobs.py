"""The job queue of a store, shared by any number of workers.

A job is identified by its kind and subject, and is in the queue once. A worker claims it for the time of a lease. If
the worker dies, the lease ends and another worker claims the job.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.store import arguments
from opencode_memory.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from opencode_memory._core import Engine

LEASE_SECONDS: Final = 120.0
MOST_JOBS: Final = 100_000
"""Number of jobs that a caller lists who wants all of them."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job.

    Attributes:
        id: Its number.
        kind: The kind of work.
        subject: The object of the work; empty if the kind is enough.
        payload: Further arguments.
        attempts: How often it was claimed.
        run_at: The earliest time to run it.
        lease_until: The end of its lease; None if no worker has it.
        worker: The worker that has it.
        dead_at: The time of its last failure, if it is not retried any more; else None.
        error: Why the last attempt failed.
        created_at: The time it was enqueued.
    """

    id: int
    kind: str
    subject: str
    payload: Mapping[str, Any]
    attempts: int
    run_at: datetime
    lease_until: datetime | None
    worker: str | None
    dead_at: datetime | None
    error: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Numbers of waiting, running and dead jobs of a kind."""

    kind: str
    waiting: int
    running: int
    dead: int


class Jobs:
    """The job queue of a store; ``MemoryStore.jobs`` is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enqueue(
        self, kind: str, subject: str = "", *, payload: Mapping[str, Any] = _NOTHING, delay_seconds: float = 0
    ) -> int:
        """Add a job; return its number.

        A job that waits already stays in the queue once. A running job runs again afterwards. A dead job stays dead
        unless the payload is different.

        Args:
            kind: Kind of the job, which selects the duty of a worker.
            subject: The object of the job; kind and subject identify the job.
            payload: Values for the worker, at most 64 KiB as JSON.
            delay_seconds: Seconds until the job is due.
        """
        text = arguments.json_object(payload, field="payload") or "{}"
        return self._engine.enqueue(
            arguments.text(kind, field="kind"),
            arguments.text(subject, field="subject"),
            text,
            round(delay_seconds * 1000),
        )

    def claim(self, worker: str, *, kinds: Sequence[str] = (), lease_seconds: float = LEASE_SECONDS) -> Job | None:
        """Claim the next job that is due; None if there is none.

        Args:
            worker: The name of the worker; no other worker may have it.
            kinds: Only jobs of these kinds; empty for all.
            lease_seconds: Duration of the lease, at most one day.
        """
        found = self._engine.claim_job(
            arguments.text(worker, field="worker"), arguments.texts(kinds, field="kinds"), round(lease_seconds * 1000)
        )
        return None if found is None else _job(found)

    def renew(self, job: Job, *, lease_seconds: float = LEASE_SECONDS) -> bool:
        """Renew the lease of a job; false if another worker has the job by now, so that this worker has to stop."""
        return self._engine.renew_job(job.id, job.worker or "", round(lease_seconds * 1000))

    def done(self, job: Job, *, again_at: datetime | None = None) -> bool:
        """Mark a job as done; false if another worker has it by now.

        Args:
            job: As it was claimed.
            again_at: The time it is due again; None for never.
        """
        next_ms = arguments.milliseconds(again_at, field="again_at")
        return self._engine.job_done(job.id, job.worker or "", next_ms)

    def failed(self, job: Job, error: str, *, is_final: bool = False, retry_after_seconds: float | None = None) -> bool:
        """Mark an attempt as failed; false if another worker has the job by now.

        Args:
            job: As it was claimed.
            error: The reason, for the user.
            is_final: Whether the job must not be retried.
            retry_after_seconds: Pause before the next attempt; None for a pause that grows with each failure.
        """
        after_ms = None if retry_after_seconds is None else round(retry_after_seconds * 1000)
        told = replace_surrogates(error)
        return self._engine.job_failed(job.id, job.worker or "", told, not is_final, after_ms)

    def drop(self, id: int) -> bool:
        """Remove a job from the queue in any state; return whether it was there."""
        return self._engine.drop_job(id)

    def has(self, kind: str, subject: str = "") -> bool:
        """Return whether a job is in the queue, alive or dead."""
        return self._engine.knows_job(arguments.text(kind, field="kind"), arguments.text(subject, field="subject"))

    def revive(self, id: int | None = None) -> int:
        """Let a dead job be retried, or all dead jobs; return how many."""
        return self._engine.revive_jobs(id, False)

    def revive_once(self, job: Job) -> bool:
        """Let a dead job be tried once more, after which it is dead again if it fails; return whether it was dead."""
        return self._engine.revive_jobs(job.id, True) == 1

    def list(self, *, limit: int = 100) -> builtins.list[Job]:
        """Return jobs, dead jobs first, then in the order in which they are due."""
        return [_job(found) for found in self._engine.jobs(arguments.count(limit, field="limit"))]

    def subjects(self, kind: str) -> dict[str, int]:
        """Return the subjects of all jobs of a kind, alive or dead, and their numbers."""
        found = self._engine.job_subjects(arguments.text(kind, field="kind"))
        return {subject: id_ for id_, subject in found}

    def counts(self) -> builtins.list[JobCounts]:
        """Return the numbers of jobs of each kind."""
        return [
            JobCounts(kind=kind, waiting=waiting, running=running, dead=dead)
            for kind, waiting, running, dead in self._engine.job_counts()
        ]

    def next_at(self) -> datetime | None:
        """Return the time at which the next job is due; None if no job waits."""
        due = self._engine.next_job_at()
        return None if due is None else arguments.moment(due)


def _job(found: dict[str, Any]) -> Job:
    moments = {
        name: None if found[name] is None else arguments.moment(found[name]) for name in ("lease_until", "dead_at")
    }
    return Job(
        id=found["id"],
        kind=found["kind"],
        subject=found["subject"],
        payload=json.loads(found["payload"]),
        attempts=found["attempts"],
        run_at=arguments.moment(found["run_at"]),
        worker=found["worker"],
        error=found["error"],
        created_at=arguments.moment(found["created_at"]),
        **moments,
    )
