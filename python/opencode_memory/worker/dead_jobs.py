"""Dead jobs of recurring duties: each is tried once more when it would have been due again.

Otherwise a cause that has gone, such as a full disk, would stop the duty until the user queues the job again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.store.jobs import MOST_JOBS
from opencode_memory.worker.duty import Duty

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LOOK_EVERY: Final = timedelta(minutes=1)


class DeadJobs:
    """Looks for dead jobs of recurring duties, at most once a minute."""

    def __init__(self) -> None:
        self._looked_at: datetime | None = None

    def try_again(
        self,
        store: MemoryStore,
        duties: Iterable[Duty],
        *,
        at: datetime,
        is_due: Callable[[MemoryStore, Duty], bool],
    ) -> int:
        """Let each dead job be tried once more whose time has come; return how many.

        A job that fails again is dead until its next time, so that ``jobs`` and ``doctor`` go on showing it.

        Args:
            store: The store with the queue.
            duties: Duties of this worker.
            at: The current time.
            is_due: Returns whether a duty has work.
        """
        if self._looked_at is not None and not _has_passed(self._looked_at, _LOOK_EVERY, at):
            return 0
        self._looked_at = at
        recurring = {duty.kind: duty for duty in duties if duty.is_due is not None}
        if not any(counts.dead for counts in store.jobs.counts() if counts.kind in recurring):
            return 0
        revived = 0
        for job in store.jobs.list(limit=MOST_JOBS):
            duty = recurring.get(job.kind)
            if duty is None or job.subject or job.dead_at is None:
                continue
            if _has_passed(job.dead_at, duty.retries_after, at) and is_due(store, duty):
                revived += store.jobs.revive_once(job)
        return revived


def _has_passed(since: datetime, period: timedelta, at: datetime) -> bool:
    """Return whether a period has passed. After a clock was set back, it has."""
    return not timedelta(0) <= at - since < period
