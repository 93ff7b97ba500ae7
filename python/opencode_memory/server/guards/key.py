"""API key authentication.

Every credential of a request must be the key. If a proxy and a client sent different keys, it would be unclear which
one to trust, so such a request is refused.
"""

from __future__ import annotations

import hmac
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse

_CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="opencode-memory"')


class ApiKey:
    """Refuses (401) requests without ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``.

    Args:
        app: The app behind this guard.
        key: The key; clients send it as UTF-8.
        other: A second valid key, if any.
        open_paths: Exact paths for which HTTP requests need no key.
        open_below: Beginning of further such paths; empty for none.
        on_refused: Called with ``key`` for each refusal.

    Raises:
        InvalidInputError: The key is empty, or cannot be sent in a header.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        key: str,
        open_paths: frozenset[str],
        on_refused: OnRefused,
        other: str | None = None,
        open_below: str = "",
    ) -> None:
        # An empty key would match every header "Authorization: Bearer ".
        if not key or key != key.strip() or not key.isprintable():
            limit = "printable characters, no spaces at the ends"
            raise InvalidInputError("the API key cannot be sent in a header", field="key", limit=limit)
        self._app = app
        self._keys = [valid.encode() for valid in (key, other) if valid]
        self._open_paths = open_paths
        self._open_below = open_below
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it. Other protocols than HTTP and WebSocket pass unchecked."""
        if scope["type"] not in {"http", "websocket"} or (scope["type"] == "http" and self._is_open(scope["path"])):
            await self._app(scope, receive, send)
            return
        credentials = [parse_bearer(value) for value in headers_named(scope, b"authorization")]
        credentials += headers_named(scope, b"x-api-key")
        # All credentials must match the same key. Two different keys may come from two different parties.
        if credentials and any(all(hmac.compare_digest(one, key) for one in credentials) for key in self._keys):
            await self._app(scope, receive, send)
            return
        self._on_refused("key")
        error = "the API key is wrong" if credentials else "this server requires an API key"
        hint = "send the server's key, and nothing else, as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
        await refuse(scope, send, 401, error=error, hint=hint, headers=[_CHALLENGE])

    def _is_open(self, path: str) -> bool:
        return path in self._open_paths or bool(self._open_below and path.startswith(self._open_below))


def parse_bearer(value: bytes) -> bytes:
    """Return the key of an ``Authorization`` header; empty, which is never a valid key, for other schemes."""
    scheme, _, credential = value.partition(b" ")
    return credential.strip(b" ") if scheme.lower() == b"bearer" else b""
