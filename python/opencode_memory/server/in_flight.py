"""Counts requests that this server has read and not yet answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class InFlight:
    """The number of requests that are being answered. Belongs to one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = anyio.Event()

    @property
    def count(self) -> int:
        """How many requests are being answered."""
        return self._count

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request until the end of the block."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Count a request that was read."""
        self._count += 1

    def end(self) -> None:
        """Count one request less: it was answered, or its client is gone."""
        self._count -= 1
        if not self._count:
            self._idle.set()
            self._idle = anyio.Event()

    async def wait_idle(self) -> None:
        """Wait until every request is answered."""
        while self._count:
            await self._idle.wait()
