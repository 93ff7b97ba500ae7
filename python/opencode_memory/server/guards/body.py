"""How large the body of a request may be.

A body is held back until all of it is known to fit, so that the app never runs for a request that is refused, and never
takes a part for the whole. At most ``limit`` bytes of a request are held, whatever the pieces in which it comes.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse

# More digits than any length has, and few enough for int(), which refuses very long ones.
_MOST_DIGITS: Final = 19


class BodyLimit:
    """Refuses (413) bodies over a limit, by their declared length or while they come in.

    A length that is declared badly, twice, or beside a transfer encoding is refused too (400): two readers of such a
    request would disagree about where it ends.

    Args:
        app: What stands behind.
        limit: Most bytes of a body.
        on_refused: Is told ``body``.

    Raises:
        InvalidInputError: The limit is negative.
    """

    def __init__(self, app: ASGIApp, *, limit: int, on_refused: OnRefused) -> None:
        if limit < 0:
            raise InvalidInputError(f"a body cannot be limited to {limit} bytes", field="limit", limit="0 or more")
        self._app = app
        self._limit = limit
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through once its body is here, or refuse it; what is not HTTP is not judged."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        lengths = headers_named(scope, b"content-length")
        if lengths:
            digits = lengths[0].lstrip(b"0")
            if len(lengths) > 1 or not lengths[0].isdigit() or headers_named(scope, b"transfer-encoding"):
                self._on_refused("body")
                hint = "send one Content-Length in decimal digits, and no Transfer-Encoding with it"
                await refuse(scope, send, 400, error="the length of the body is not clear", hint=hint)
                return
            if len(digits) > _MOST_DIGITS or int(digits or b"0") > self._limit:
                await self._refuse_large(scope, send)
                return
        whole = await self._whole_body(receive)
        if whole is None:
            await self._refuse_large(scope, send)
        elif whole["type"] == "http.request":
            await self._app(scope, _first(whole, receive), send)
        # Otherwise the client went away in the middle: there is nobody to answer, and nothing that could be done.

    async def _whole_body(self, receive: Receive) -> Message | None:
        """Return one message with all of the body, or that of the client's leaving; None when the body is too large."""
        message = await receive()
        if len(message.get("body", b"")) > self._limit:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return message
        # One buffer, not a list: a client that sends single bytes must not cost a hundred bytes for each.
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


def _first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def receive_after() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_after
