"""Token buckets for many clients, in bounded memory.

A bucket is stored as one number: the time at which it is full again (the "theoretical arrival time" of the generic cell
rate algorithm, ITU-T I.371). A full bucket is like a new one, so it is not stored.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Final

MOST_BUCKETS: Final = 10_000

_MINUTE: Final = 60.0
# Sums of fractions of a minute can be slightly too large. Without a tolerance a client would lose a request.
_TOLERANCE: Final = 1e-3


class Buckets:
    """Buckets of ``per_minute`` tokens, each refilled within a minute.

    Args:
        per_minute: Capacity of a bucket, at least 1.
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, *, per_minute: int, clock: Callable[[], float]) -> None:
        self._refill = _MINUTE / per_minute
        self._tolerance = min(_TOLERANCE, self._refill / 2)
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}
        self._next_sweep = clock() + _MINUTE

    def __len__(self) -> int:
        """Return the number of stored buckets."""
        return len(self._full_at)

    def take(self, name: Hashable) -> float:
        """Take a token out of a bucket. Return 0, or the seconds until one is available if the bucket is empty."""
        now = self._clock()
        if now >= self._next_sweep:
            self._drop_full(now)
        full_at = max(self._full_at.get(name, now), now) + self._refill
        wait = full_at - now - _MINUTE
        if wait > self._tolerance:
            return wait
        if name not in self._full_at and len(self._full_at) >= MOST_BUCKETS:
            self._make_room(now)
        self._full_at[name] = full_at
        return 0.0

    def _drop_full(self, now: float) -> None:
        self._full_at = {name: full_at for name, full_at in self._full_at.items() if full_at > now}
        self._next_sweep = now + _MINUTE

    def _make_room(self, now: float) -> None:
        self._drop_full(now)
        if len(self._full_at) >= MOST_BUCKETS:
            # Evict the buckets with the most tokens left first. Otherwise a throttled client could evict its own empty
            # bucket by inventing many new client names. Evict a tenth at a time, because each eviction is a search.
            for name in heapq.nsmallest(MOST_BUCKETS // 10, self._full_at, key=self._full_at.__getitem__):
                del self._full_at[name]
