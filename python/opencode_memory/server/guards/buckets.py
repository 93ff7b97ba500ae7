"""Token buckets, many of them, in bounded memory.

A bucket is one number: when it will be full again (the "theoretical arrival time" of ATM's generic cell rate algorithm,
ITU-T I.371). A full bucket says nothing, so it is not kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Final

MOST_BUCKETS: Final = 10_000

_MINUTE: Final = 60.0
# Sums of fractions of a minute come out a hair too large, which must not cost anybody a request.
_TOLERANCE: Final = 1e-3


class Buckets:
    """Buckets of ``per_minute`` tokens, each refilled within a minute.

    Args:
        per_minute: Tokens of a bucket, at least 1: as many may be taken at once.
        clock: Seconds, never going back.
    """

    def __init__(self, *, per_minute: int, clock: Callable[[], float]) -> None:
        self._refill = _MINUTE / per_minute
        self._tolerance = min(_TOLERANCE, self._refill / 2)
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}
        self._next_sweep = clock() + _MINUTE

    def __len__(self) -> int:
        """Return how many buckets are kept."""
        return len(self._full_at)

    def take(self, name: Hashable) -> float:
        """Take a token out of a bucket; return 0, or the seconds until there will be one, and then none is taken."""
        now = self._clock()
        if now >= self._next_sweep:
            self._forget_full(now)
        full_at = max(self._full_at.get(name, now), now) + self._refill
        wait = full_at - now - _MINUTE
        if wait > self._tolerance:
            return wait
        if name not in self._full_at and len(self._full_at) >= MOST_BUCKETS:
            self._make_room(now)
        self._full_at[name] = full_at
        return 0.0

    def _forget_full(self, now: float) -> None:
        self._full_at = {name: full_at for name, full_at in self._full_at.items() if full_at > now}
        self._next_sweep = now + _MINUTE

    def _make_room(self, now: float) -> None:
        self._forget_full(now)
        if len(self._full_at) >= MOST_BUCKETS:
            # The fullest go: who has used up a bucket cannot get a new one by making up a crowd of others. A tenth at a
            # time, so that a crowd does not cost a search for each of its members.
            for name in heapq.nsmallest(MOST_BUCKETS // 10, self._full_at, key=self._full_at.__getitem__):
                del self._full_at[name]
