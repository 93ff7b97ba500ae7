"""Limits how many HTTP connections are open at once.

Each connection costs a file descriptor. Without the limit, a process that opens many could use up all of them. Then the
server can open no file, so that its tasks fail, and asyncio logs an error for each connection that it cannot accept.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from opencode_memory.server.guards.refusal import OnRefused

_SHARE: Final = 2
_MOST_RESERVED: Final = 256
_BATCHES: Final = 16
"""Connections are accepted in batches. Several are accepted before the first of them is counted or closed."""


def divide_files(most: int) -> tuple[int, int]:
    """Divide the files that a process may have open.

    Args:
        most: Their number.

    Returns:
        The number of connections that leaves the server enough files of its own, and how many to accept at once.
    """
    reserved = min(most // _SHARE, _MOST_RESERVED)
    return max(1, most - reserved), max(1, reserved // _BATCHES)


def counted_protocol(base: type[H11Protocol], *, most: int, on_refused: OnRefused) -> type[H11Protocol]:
    """Create a protocol class that closes a connection if too many are open.

    It closes the oldest connection that waits for a request, so that idle ones cannot keep others out. If a request
    runs on each of the others, it closes the new one.

    Args:
        base: A protocol class of uvicorn.
        most: How many connections may be open. A connection that has become a WebSocket does not count.
        on_refused: Called with ``connections`` for each closed connection.

    Returns:
        A class for ``uvicorn.Config(http=...)``.
    """
    connections: dict[Counted, None] = {}

    class Counted(base):  # type: ignore[misc, valid-type]  # the base is a parameter
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connections[self] = None
            if len(connections) > most:
                closed = next(other for other in connections if other is self or other.is_waiting)
                # Its client may not read, so do not wait until it has.
                closed.transport.abort()
                del connections[closed]
                on_refused("connections")

        def handle_websocket_upgrade(self, event: h11.Request) -> None:
            # A client may send the request for it behind another one. Then uvicorn reads that request when it has
            # answered the first one, and not when its bytes arrive.
            super().handle_websocket_upgrade(event)
            connections.pop(self, None)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self, None)
            super().connection_lost(exc)

        @property
        def is_waiting(self) -> bool:
            """Whether no request runs on the connection."""
            cycle: Any = self.cycle
            return cycle is None or cycle.response_complete

    return Counted
