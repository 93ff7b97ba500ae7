"""Closes connections whose request headers do not arrive in time.

A connection costs a file descriptor, and a process that begins many requests without ending one could use up all of
them. uvicorn limits only the time between two requests.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS: Final = 10.0
_TEXT: Final = b"The headers of the request did not arrive in time. Send the request again.\n"
_TIMEOUT: Final = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(_TEXT), _TEXT)
)


def limited_protocol(seconds: float = HEADER_SECONDS) -> type[H11Protocol]:
    """Create a protocol class that waits a limited time for the headers of each request.

    Args:
        seconds: From the connection, or from the first byte of a later request, to the last header.

    Returns:
        A class for ``uvicorn.Config(http=...)``.
    """

    class Limited(H11Protocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            is_handed_over = self.transport.get_protocol() is not self
            if is_handed_over or self.conn.their_state is not h11.IDLE:
                self._end()
            elif self._deadline is None and self.conn.trailing_data[0]:
                self._begin()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            super().connection_lost(exc)

        def _begin(self) -> None:
            self._deadline = self.loop.call_later(seconds, self._give_up)

        def _end(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.write(_TIMEOUT)
                self.transport.close()

    return Limited
