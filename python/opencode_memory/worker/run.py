"""Worker loop: claims jobs from the queue and runs them one after the other.

Any number of workers can share a queue. A worker runs at low priority and may be killed at any time: the next worker
that starts frees its job, or the lease of the job expires. A line on standard input wakes the worker, and it also
polls for jobs of other processes. When standard input ends, the process that started the worker is gone, so the worker
ends as well.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.errors import BusyError, ClosedError, StorageError
from opencode_memory.platform import system
from opencode_memory.text import clock
from opencode_memory.text.unicode import replace_surrogates
from opencode_memory.worker.clock_set_back import ClockWatch, bring_jobs_forward
from opencode_memory.worker.dead_jobs import DeadJobs
from opencode_memory.worker.dead_workers import free_jobs_of_dead_workers, name_worker
from opencode_memory.worker.duty import REFUSED_SECONDS, Duty, LeaseLostError, PermanentError, PostponedError, Work
from opencode_memory.worker.results import Results

if TYPE_CHECKING:
    from opencode_memory.store.jobs import Job
    from opencode_memory.store.memory_store import MemoryStore

_LOOK_SECONDS: Final = 2.0

_log: Final = logging.getLogger(__name__)


LEARN: Final = b"L"
PAUSE: Final = b"P"
"""Bytes by which a supervisor lets its worker learn from sessions, and pauses that."""


class StdinWaiter:
    """Waits between two rounds of a worker.

    Args:
        supervised: Whether a supervisor holds the other end of standard input.
    """

    def __init__(self, *, supervised: bool) -> None:
        self.supervised = supervised
        self.may_learn = True

    def __call__(self, seconds: float) -> bool:
        """Wait until woken or for the given time; return False if the supervisor is gone."""
        if not self.supervised:
            time.sleep(seconds)
            return True
        return not system().wait_for_input(sys.stdin.fileno(), seconds) or self._take(
            os.read(sys.stdin.fileno(), 65_536)
        )

    def _take(self, read: bytes) -> bool:
        """Obey what the supervisor wrote; return False at the end of standard input."""
        last = max(LEARN, PAUSE, key=read.rfind)
        if last in read:
            self.may_learn = last == LEARN
        return bool(read)


def run_worker(
    store: MemoryStore,
    duties: Sequence[Duty],
    *,
    wait: Callable[[float], bool],
    now: Callable[[], datetime] = clock.now,
    is_active: Callable[[str], bool] = lambda _kind: True,
    lower_priority: bool = True,
) -> None:
    """Run jobs until ``wait`` returns False.

    Args:
        store: A store opened with ``background=True``, so that the engine updates its indexes.
        duties: Duties of this worker.
        wait: Waits for at most the given number of seconds; returns whether to continue.
        now: Returns the current time.
        is_active: Returns whether jobs of a kind may run now; asked in each round.
        lower_priority: Whether to lower the priority of this process.
    """
    if lower_priority:
        system().lower_priority()
    name = name_worker()
    postponements = Postponements()
    clock_watch = ClockWatch()
    results, dead_jobs = Results(), DeadJobs()
    is_first, was_set_back = True, False
    while True:
        did_something, pause = False, _LOOK_SECONDS
        by_kind = {duty.kind: duty for duty in duties if is_active(duty.kind)}
        try:
            results.write_refused()
            if is_first:
                free_jobs_of_dead_workers(store, at=now())
                bring_jobs_forward(store, at=now())
                is_first = False
            was_set_back = clock_watch.was_set_back(now()) or was_set_back
            if was_set_back:
                bring_jobs_forward(store, at=now(), after=timedelta(0))
                was_set_back = False
            enqueue_due_jobs(store, tuple(by_kind.values()))
            dead_jobs.try_again(store, by_kind.values(), at=now(), is_due=_is_due)
            did_something = run_next_job(
                store, by_kind, worker=name, now=now, postponements=postponements, results=results
            )
        except BusyError:
            _log.info("the store is busy; the worker tries again")
        except StorageError as error:
            # Most likely the disk is full. The worker has to continue when there is space again.
            pause = REFUSED_SECONDS
            _log.warning("%s; the worker tries again in %d s", error, pause)
        if not wait(0 if did_something else pause):
            return


def enqueue_due_jobs(store: MemoryStore, duties: Sequence[Duty]) -> None:
    """Queue the jobs that are due, unless a job of the kind is queued already.

    Raises:
        BusyError: The store is busy.
        StorageError: The store cannot be written.
    """
    for duty in duties:
        if duty.is_due is not None and not store.jobs.has(duty.kind) and _is_due(store, duty):
            store.jobs.enqueue(duty.kind)


def _is_due(store: MemoryStore, duty: Duty) -> bool:
    """Return whether a job has to be queued; also if the check fails, so that the queue has the error of the job."""
    try:
        return duty.is_due is not None and duty.is_due(store)
    except (BusyError, ClosedError, StorageError):
        raise
    except Exception as error:  # noqa: BLE001  the check of one duty must not end the worker
        reason = f"{type(error).__name__}: {_format_error(error)}"
        _log.warning("the check for jobs (%s) failed: %s", duty.kind, reason, exc_info=_log.isEnabledFor(logging.DEBUG))
        return True


class Postponements:
    """Jobs that are postponed again and again, so that the log names each reason once."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    def is_new(self, job: Job, reason: str) -> bool:
        """Note that a job is postponed; return whether it was not for this reason before."""
        key = (job.kind, job.subject)
        is_new = self._reasons.get(key) != reason
        self._reasons[key] = reason
        return is_new

    def end(self, job: Job) -> None:
        """Note that a job ran."""
        self._reasons.pop((job.kind, job.subject), None)


def run_next_job(
    store: MemoryStore,
    duties: dict[str, Duty],
    *,
    worker: str,
    now: Callable[[], datetime] = clock.now,
    postponements: Postponements | None = None,
    results: Results | None = None,
) -> bool:
    """Run the next due job; return False if there is none.

    Args:
        store: The store with the queue.
        duties: Duties of this worker, by kind.
        worker: Name of the worker.
        now: Returns the current time.
        postponements: Postponements of earlier jobs; without them, each one is logged.
        results: Keep a result that cannot be written; without them, it is lost.

    Raises:
        BusyError: The store is busy.
        StorageError: The store cannot be written.
    """
    postponements, results = postponements or Postponements(), results or Results()
    job = store.jobs.claim(worker, kinds=tuple(duties))
    if job is None:
        return False
    try:
        again_at = duties[job.kind].do(Work(store, job, now(), lambda: _renew_lease(store, job)))
    except (LeaseLostError, ClosedError) as error:
        _log.info("%s: %s", _format_job(job), _format_error(error))
    except PostponedError as error:
        results.write(partial(store.jobs.done, job, again_at=now() + timedelta(seconds=error.seconds)))
        reason = _format_error(error)
        if postponements.is_new(job, reason):
            level = logging.WARNING if error.is_warning else logging.INFO
            _log.log(level, "%s is postponed: %s", _format_job(job), reason)
        return True
    except PermanentError as error:
        _log.warning("%s failed permanently: %s", _format_job(job), _format_error(error))
        results.write(partial(store.jobs.failed, job, _format_error(error), is_final=True))
    except BusyError:
        # The store is busy, so the failure must not count against the job.
        results.write(partial(store.jobs.done, job, again_at=now() + timedelta(seconds=_LOOK_SECONDS)))
    except Exception as error:  # noqa: BLE001  one bad job must not end the worker, and it is kept with its error
        reason = f"{type(error).__name__}: {_format_error(error)}"
        _log.warning("%s failed: %s", _format_job(job), reason, exc_info=_log.isEnabledFor(logging.DEBUG))
        results.write(partial(store.jobs.failed, job, reason))
    else:
        results.write(partial(store.jobs.done, job, again_at=again_at))
    postponements.end(job)
    return True


def _renew_lease(store: MemoryStore, job: Job) -> None:
    if not store.jobs.renew(job):
        raise LeaseLostError("another worker has claimed the job")


def _format_error(error: Exception) -> str:
    """Format an error for the job table and the log: replace lone surrogates and redact secrets."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  it is another program's, and may fail at this too
        text = "an error without a message"
    return redact(replace_surrogates(text))[0]


def _format_job(job: Job) -> str:
    return f"job {job.id} ({job.kind}{f' {job.subject}' if job.subject else ''})"
