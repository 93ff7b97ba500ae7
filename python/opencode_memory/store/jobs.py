"""Work that waits: the queue of the store, which any number of workers share.

A job is known by its kind and subject, and is in the queue once. Who claims it has it for the time of a lease; who dies
loses it then, and another one takes it up.
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
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job.

    Attributes:
        id: Its number.
        kind: What is to be done.
        subject: To what; empty where the kind says it all.
        payload: Further arguments.
        attempts: How often it was claimed.
        run_at: Not before this moment.
        lease_until: Until when its worker has it; None when nobody has it.
        worker: Who has it.
        dead_at: Since when it is not tried any more; None while it is.
        error: Why the last attempt failed.
        created_at: When it was asked for.
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
    """How many jobs of a kind wait, are being done, and are dead."""

    kind: str
    waiting: int
    running: int
    dead: int


class Jobs:
    """The queue of a store; ``MemoryStore.jobs`` is it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enqueue(
        self, kind: str, subject: str = "", *, payload: Mapping[str, Any] = _NOTHING, delay_seconds: float = 0
    ) -> int:
        """Ask for work; returns the job's number.

        What waits already is not asked for twice; what is being done is done again afterwards; what is dead stays so
        unless the payload is another one.
        """
        text = arguments.json_object(payload, field="payload") or "{}"
        return self._engine.enqueue(
            arguments.text(kind, field="kind"),
            arguments.text(subject, field="subject"),
            text,
            round(delay_seconds * 1000),
        )

    def claim(self, worker: str, *, kinds: Sequence[str] = (), lease_seconds: float = LEASE_SECONDS) -> Job | None:
        """Take the job whose turn it is; None when nothing is due.

        Args:
            worker: Who takes it; a name that no other worker has.
            kinds: Only jobs of these kinds; empty for all.
            lease_seconds: For how long.
        """
        found = self._engine.claim_job(
            arguments.text(worker, field="worker"), arguments.texts(kinds, field="kinds"), round(lease_seconds * 1000)
        )
        return None if found is None else _job(found)

    def renew(self, job: Job, *, lease_seconds: float = LEASE_SECONDS) -> bool:
        """Keep a job for longer; false when another worker has it by now, and this one has to stop."""
        return self._engine.renew_job(job.id, job.worker or "", round(lease_seconds * 1000))

    def done(self, job: Job, *, again_at: datetime | None = None) -> bool:
        """Say that a job is done; false when another worker has it by now.

        Args:
            job: As it was claimed.
            again_at: When it is due again; None for never.
        """
        next_ms = arguments.milliseconds(again_at, field="again_at")
        return self._engine.job_done(job.id, job.worker or "", next_ms)

    def failed(self, job: Job, error: str, *, is_final: bool = False, retry_after_seconds: float | None = None) -> bool:
        """Say that an attempt failed; false when another worker has the job by now.

        Args:
            job: As it was claimed.
            error: Why, for people.
            is_final: Whether trying again cannot help.
            retry_after_seconds: Pause before the next attempt; None for one that grows with each failure.
        """
        after_ms = None if retry_after_seconds is None else round(retry_after_seconds * 1000)
        told = replace_surrogates(error)
        return self._engine.job_failed(job.id, job.worker or "", told, not is_final, after_ms)

    def drop(self, job: Job) -> bool:
        """Take a job out of the queue, whatever its state; whether it was there."""
        return self._engine.drop_job(job.id)

    def has(self, kind: str, subject: str = "") -> bool:
        """Say whether a job is in the queue, dead ones too."""
        return self._engine.knows_job(arguments.text(kind, field="kind"), arguments.text(subject, field="subject"))

    def revive(self, id: int | None = None) -> int:
        """Let a dead job be tried again, or all of them; returns how many."""
        return self._engine.revive_jobs(id)

    def list(self, *, limit: int = 100) -> builtins.list[Job]:
        """Return jobs, dead ones first, then as they are due."""
        return [_job(found) for found in self._engine.jobs(arguments.count(limit, field="limit"))]

    def counts(self) -> builtins.list[JobCounts]:
        """Return how many jobs there are, kind by kind."""
        return [
            JobCounts(kind=kind, waiting=waiting, running=running, dead=dead)
            for kind, waiting, running, dead in self._engine.job_counts()
        ]

    def next_at(self) -> datetime | None:
        """Return when the next job is due; None when none waits."""
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
