"""Counts requests that this server has read and not yet answered, and limits those of a connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

TOO_MANY_REQUESTS: Final = -32005
"""Code of an error in JSON-RPC. The SDK of MCP uses -32000 for a connection that was closed."""
MOST_REQUESTS: Final = 256
"""Requests of a connection that are answered at once. A client sends a few for each session that is at work."""
TOO_MANY_TEXT: Final = f"more than {MOST_REQUESTS} requests are being answered"


class InFlight:
    """The number of requests that are being answered. Belongs to one event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = anyio.Event()

    @property
    def is_full(self) -> bool:
        """Whether a connection must not have more requests, so that the next one is refused."""
        return self._count >= MOST_REQUESTS

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
