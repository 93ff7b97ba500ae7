"""Jobs that wait for a time of a clock that was wrong, for example of a machine whose clock battery is empty.

A recurring job is in the queue until it is due. If the clock was a year ahead when the job ran last, the job would be
due again in a year.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.store.jobs import MOST_JOBS

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LONGEST_WAIT: Final = timedelta(days=2)
"""No job is put off for so long. The longest period of a recurring job is a day."""
_TOLERANCE: Final = timedelta(minutes=1)


class ClockWatch:
    """Notices that the clock of this process was set back. Small corrections do not count."""

    def __init__(self) -> None:
        self._last: datetime | None = None

    def was_set_back(self, at: datetime) -> bool:
        """Note the current time; return whether it is before the time that was noted last."""
        last, self._last = self._last, at
        return last is not None and last - at > _TOLERANCE


def bring_jobs_forward(store: MemoryStore, *, at: datetime, after: timedelta = _LONGEST_WAIT) -> int:
    """Make each waiting job due now that was put off for too long. Return how many.

    Args:
        store: The store with the queue.
        at: The current time.
        after: Jobs that are due within this time stay as they are.
    """
    brought = 0
    for job in store.jobs.list(limit=MOST_JOBS):
        is_waiting = job.dead_at is None and (job.lease_until is None or job.lease_until <= at)
        if is_waiting and job.run_at - at > after:
            store.jobs.enqueue(job.kind, job.subject, payload=job.payload)
            brought += 1
    return brought
