"""Limits the size of request bodies, and the time in which they must arrive.

The guard reads a body to its end before it calls the app. So the app never runs for a refused request, and never takes
a part of a body for all of it. The guard holds at most ``limit`` bytes per request, in however many chunks they arrive.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse

# More digits than any real length has. `int()` raises an error for very long strings of digits.
_MOST_DIGITS: Final = 19


BODY_SECONDS: Final = 30.0


class BodyLimit:
    """Refuses bodies over a limit (413), by their declared length or while they are received, and late ones (408).

    It also refuses (400) a request whose length is malformed, repeated, or sent with a transfer encoding. A proxy and
    this server could disagree about where such a request ends.

    Args:
        app: The app behind this guard.
        limit: Maximum size of a body in bytes.
        on_refused: Called with ``body`` for each refusal.
        seconds: From the last header to the end of the body.

    Raises:
        InvalidInputError: The limit is negative.
    """

    def __init__(self, app: ASGIApp, *, limit: int, on_refused: OnRefused, seconds: float = BODY_SECONDS) -> None:
        if limit < 0:
            raise InvalidInputError(f"a body cannot be limited to {limit} bytes", field="limit", limit="0 or more")
        self._app = app
        self._limit = limit
        self._on_refused = on_refused
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on after reading its body, or refuse it. Other protocols than HTTP pass unchecked."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        lengths = headers_named(scope, b"content-length")
        if lengths:
            digits = lengths[0].lstrip(b"0")
            if len(lengths) > 1 or not lengths[0].isdigit() or headers_named(scope, b"transfer-encoding"):
                self._on_refused("body")
                hint = "send one Content-Length in decimal digits, and no Transfer-Encoding with it"
                await refuse(scope, send, 400, error="the length of the body is ambiguous", hint=hint)
                return
            if len(digits) > _MOST_DIGITS or int(digits or b"0") > self._limit:
                await self._refuse_large(scope, send)
                return
        try:
            async with asyncio.timeout(self._seconds):
                whole = await self._whole_body(receive)
        except TimeoutError:
            self._on_refused("body")
            hint = f"send the whole body within {self._seconds:g} s"
            await refuse(scope, send, 408, error="the body did not arrive in time", hint=hint)
            return
        if whole is None:
            await self._refuse_large(scope, send)
        elif whole["type"] == "http.request":
            await self._app(scope, _prepend(whole, receive), send)
        # Otherwise the client disconnected in the middle of its request, so an answer would not arrive.

    async def _whole_body(self, receive: Receive) -> Message | None:
        """Return one message with the whole body, or the disconnect message; None if the body is too large."""
        message = await receive()
        if len(message.get("body", b"")) > self._limit:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return message
        # Collect into one buffer. In a list, a client that sends single bytes would cost about 100 bytes for each.
        body = bytearray(message.get("body", b""))
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            piece = message.get("body", b"")
            if len(body) + len(piece) > self._limit:
                return None
            body += piece
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(body), "more_body": False}

    async def _refuse_large(self, scope: Scope, send: Send) -> None:
        self._on_refused("body")
        hint = f"send at most {self._limit} bytes in one request"
        await refuse(scope, send, 413, error="the body is too large", hint=hint)


def _prepend(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
