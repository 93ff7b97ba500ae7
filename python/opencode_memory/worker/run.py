"""The worker: takes jobs from the queue and does them, one after the other, for as long as somebody wants it.

As many workers as wanted share a queue. Each yields to everything else on the machine, and may be killed at any moment:
the lease of its job runs out, and another one takes it up. It is woken by a line on its standard input, and looks by
itself now and then for what other processes wrote. When the input ends, whoever started it has gone, and it goes too.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.errors import BusyError, ClosedError, StorageError
from opencode_memory.text import clock
from opencode_memory.text.unicode import replace_surrogates
from opencode_memory.worker.duty import Duty, LeaseLostError, PermanentError, PostponedError, Work

if TYPE_CHECKING:
    from opencode_memory.store.jobs import Job
    from opencode_memory.store.memory_store import MemoryStore

NICENESS: Final = 10
_LOOK_SECONDS: Final = 2.0
_REFUSED_SECONDS: Final = 30.0

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StdinWaiter:
    """What a worker waits for between its rounds.

    Attributes:
        supervised: Whether somebody holds the other end of standard input.
    """

    supervised: bool

    def __call__(self, seconds: float) -> bool:
        """Wait until woken, or for so long; False when there is nobody left to work for."""
        if not self.supervised:
            time.sleep(seconds)
            return True
        ready, _, _ = select.select([sys.stdin.buffer], [], [], seconds)
        return not ready or bool(os.read(sys.stdin.fileno(), 65_536))


def run_worker(
    store: MemoryStore,
    duties: Sequence[Duty],
    *,
    wait: Callable[[float], bool],
    now: Callable[[], datetime] = clock.now,
    lower_priority: bool = True,
) -> None:
    """Work until ``wait`` says that nobody is left to work for.

    Args:
        store: Opened with ``background=True``, so that the engine catches its indexes up.
        duties: What this worker does.
        wait: Waits for some seconds at most; returns whether to go on.
        now: The present moment.
        lower_priority: Whether the process yields to others.
    """
    if lower_priority:
        os.nice(NICENESS)
    name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
    by_kind = {duty.kind: duty for duty in duties}
    while True:
        did_something, pause = False, _LOOK_SECONDS
        try:
            enqueue_due_jobs(store, duties)
            did_something = run_next_job(store, by_kind, worker=name, now=now)
        except BusyError:
            _log.info("the store is busy; trying again")
        except StorageError as error:
            # A full disk, most likely: the worker is needed when there is room again.
            pause = _REFUSED_SECONDS
            _log.warning("%s; trying again in %d s", error, pause)
        if not wait(0 if did_something else pause):
            return


def enqueue_due_jobs(store: MemoryStore, duties: Sequence[Duty]) -> None:
    """Put into the queue what the state of the store asks for; what is there already stays as it is."""
    for duty in duties:
        if duty.is_due is not None and not store.jobs.has(duty.kind) and duty.is_due(store):
            store.jobs.enqueue(duty.kind)


def run_next_job(
    store: MemoryStore, duties: dict[str, Duty], *, worker: str, now: Callable[[], datetime] = clock.now
) -> bool:
    """Do the job whose turn it is; false when nothing is due.

    Args:
        store: Whose queue.
        duties: What this worker does, by kind.
        worker: Its name.
        now: The present moment.
    """
    job = store.jobs.claim(worker, kinds=tuple(duties))
    if job is None:
        return False
    try:
        again_at = duties[job.kind].do(Work(store, job, now(), lambda: _renew_lease(store, job)))
    except (LeaseLostError, ClosedError) as error:
        _log.info("%s: %s", _format_job(job), _format_error(error))
    except PostponedError as error:
        store.jobs.done(job, again_at=now() + timedelta(seconds=error.seconds))
        _log.log(
            logging.WARNING if error.is_warning else logging.INFO,
            "%s is put off: %s",
            _format_job(job),
            _format_error(error),
        )
    except PermanentError as error:
        store.jobs.failed(job, _format_error(error), is_final=True)
        _log.warning("%s failed for good: %s", _format_job(job), _format_error(error))
    except BusyError:
        # The store is at fault, and no job dies of that.
        store.jobs.done(job, again_at=now() + timedelta(seconds=_LOOK_SECONDS))
    except Exception as error:  # noqa: BLE001  one bad job must not end the worker, and it is kept with its error
        told = f"{type(error).__name__}: {_format_error(error)}"
        store.jobs.failed(job, told)
        _log.warning("%s failed: %s", _format_job(job), told, exc_info=_log.isEnabledFor(logging.DEBUG))
    else:
        store.jobs.done(job, again_at=again_at)
    return True


def _renew_lease(store: MemoryStore, job: Job) -> None:
    if not store.jobs.renew(job):
        raise LeaseLostError("another worker has it by now")


def _format_error(error: Exception) -> str:
    """Put an error into words that can be stored and logged: an error may hold anything."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  it is another program's, and may fail at this too
        text = "an error that says nothing"
    return redact(replace_surrogates(text))[0]


def _format_job(job: Job) -> str:
    return f"job {job.id} ({job.kind}{f' {job.subject}' if job.subject else ''})"
