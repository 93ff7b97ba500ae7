"""The lease of a loop as its server holds it: every write requires it, also while it is renewed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from opencode_memory.loops.model import Loop, Step
from opencode_memory.loops.process import ProcessId
from opencode_memory.loops.records import Lease, Loops, LostLeaseError
from opencode_memory.store.documents import Change

LEASE_SECONDS: Final = 30.0
"""Length of a lease. Its holder renews it much earlier."""


class HeldLease:
    """A lease that this server holds.

    Args:
        loops: The records.
        lease: The lease.
    """

    def __init__(self, loops: Loops, lease: Lease) -> None:
        self._loops = loops
        self._lease: Lease | None = lease
        # A renewal changes the version that a write requires.
        self._lock = threading.Lock()

    def write(
        self, loop: Loop, step: Step | None = None, *, why: str | None, at: datetime, also: Iterable[Change] = ()
    ) -> Loop:
        """Write a loop and a step; see ``Loops.write``.

        Raises:
            LostLeaseError: Another server has the lease.
            ConflictError: The user has changed the loop.
        """
        with self._lock:
            return self._loops.write(loop, step, lease=self._held, why=why, at=at, also=also)

    def write_step(self, step: Step, *, project: str | None, also: Iterable[Change] = ()) -> Step:
        """Write a step; see ``Loops.write_step``.

        Raises:
            LostLeaseError: Another server has the lease.
        """
        with self._lock:
            return self._loops.write_step(step, project=project, lease=self._held, also=also)

    def note_run(self, process: ProcessId) -> None:
        """Record the process group of a command; see ``Loops.note_run``.

        Raises:
            LostLeaseError: Another server has the lease.
        """
        with self._lock:
            self._loops.note_run(process, self._held)

    def renew(self, *, at: datetime, seconds: float) -> None:
        """Extend the lease.

        Raises:
            LostLeaseError: Another server has it.
        """
        with self._lock:
            try:
                self._lease = self._loops.renew(self._held, at=at, seconds=seconds)
            except LostLeaseError:
                self._lease = None
                raise

    def release(self) -> None:
        """Give the lease back."""
        with self._lock:
            if self._lease is not None:
                self._loops.release(self._lease)
                self._lease = None

    @property
    def _held(self) -> Lease:
        if self._lease is None:
            raise LostLeaseError("another server runs the loop")
        return self._lease
