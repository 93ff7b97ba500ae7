"""Refusal responses: a status code and a small JSON body with the reason and a hint.

The texts never repeat any part of the request. No header allows a page of another origin to read the response.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Scope, Send

OnRefused = Callable[[str], None]
"""Called for each refusal with its reason: host, origin, key, owner, rate or body."""

_POLICY_VIOLATION: Final = 1008


def refusal_body(error: str, hint: str) -> bytes:
    """Return the JSON body of a refusal."""
    return json.dumps({"error": error, "hint": hint}).encode()


def headers_named(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of all headers with a name, in the order of the request. ``name`` must be in lower case."""
    return [value for key, value in scope["headers"] if key.lower() == name]


async def refuse(
    scope: Scope, send: Send, status: int, *, error: str, hint: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request, or a WebSocket handshake, with a refusal.

    Args:
        scope: A scope of type ``http`` or ``websocket``. A WebSocket must not have been accepted yet.
        send: The ``send`` function of the request.
        status: HTTP status, 400 to 599.
        error: The reason.
        hint: Advice for the client.
        headers: Additional headers of the response.
    """
    prefix = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            # Without this extension, a close before the handshake is the only way; the server turns it into a 403.
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": error})
            return
        prefix = "websocket.http.response"
    body = refusal_body(error, hint)
    start = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": f"{prefix}.start", "status": status, "headers": start})
    await send({"type": f"{prefix}.body", "body": body})
