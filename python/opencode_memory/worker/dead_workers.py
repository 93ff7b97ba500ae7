"""Jobs of workers that were killed: the next worker frees them, instead of waiting for the end of their leases."""

from __future__ import annotations

import os
import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.loops.process import ProcessId, identify
from opencode_memory.store.jobs import MOST_JOBS

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PARTS: Final = 3


def name_worker() -> str:
    """Return a name for the worker of this process. It tells from which process on which machine the worker is."""
    process = identify(os.getpid())
    return f"{uuid.uuid4().hex[:12]}.{process}" if process is not None else f"{os.getpid()}-{uuid.uuid4().hex[:12]}"


def free_jobs_of_dead_workers(store: MemoryStore, *, at: datetime) -> int:
    """Free the jobs of workers whose processes have certainly ended; return how many.

    The attempt counts as failed, so a job that kills each of its workers pauses longer each time and dies in the end.
    Jobs of workers in other containers or on other machines stay until their leases end.

    Args:
        store: The store with the queue.
        at: The current time.
    """
    freed = 0
    for job in store.jobs.list(limit=MOST_JOBS):
        is_held = job.dead_at is None and job.lease_until is not None and job.lease_until > at
        if is_held and job.worker is not None and _is_known_dead(job.worker):
            freed += store.jobs.failed(job, "the worker was killed")
    return freed


def _is_known_dead(worker: str) -> bool:
    numbers = worker.partition(".")[2].split("-", 2)
    if len(numbers) != _PARTS or not all(number.isdecimal() for number in numbers[:2]):
        return False
    return ProcessId(pid=int(numbers[0]), started=int(numbers[1]), machine=numbers[2]).is_known_dead
