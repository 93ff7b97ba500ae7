"""How a request is refused: a status and a small JSON body that says why and what to do.

The text is the guard's own and never repeats what was sent. No header allows another origin to read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Scope, Send

# Is told in one word what was wrong: host, origin, key, owner, rate, body.
OnRefused = Callable[[str], None]

_POLICY_VIOLATION: Final = 1008


def refusal_body(error: str, hint: str) -> bytes:
    """Return the JSON body of a refusal."""
    return json.dumps({"error": error, "hint": hint}).encode()


def headers_named(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of all headers of a name, given in lower case, in the order in which they came."""
    return [value for key, value in scope["headers"] if key.lower() == name]


async def refuse(
    scope: Scope, send: Send, status: int, *, error: str, hint: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request, or the handshake of a websocket, with a refusal.

    Args:
        scope: Of type ``http`` or ``websocket``; a websocket must not have been accepted yet.
        send: The server's.
        status: HTTP status, 400 to 499.
        error: What was refused.
        hint: What to do about it.
        headers: Further headers of the answer.
    """
    prefix = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            # To close before accepting is all that such a server can do; it makes a 403 of it.
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": error})
            return
        prefix = "websocket.http.response"
    body = refusal_body(error, hint)
    start = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": f"{prefix}.start", "status": status, "headers": start})
    await send({"type": f"{prefix}.body", "body": body})
