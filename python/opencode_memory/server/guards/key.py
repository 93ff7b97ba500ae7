"""Who may ask, by a key that both sides know.

Each credential of a request has to be the key. A request that carries the key beside something else was put together by
two parties (a proxy and a client, say), and which of them is meant is not for this server to guess.
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
        app: What stands behind.
        key: The key; sent as UTF-8.
        other: A second key that lets in as well; None for none.
        open_paths: Paths that HTTP requests need no key for, compared as a whole.
        on_refused: Is told ``key``.

    Raises:
        InvalidInputError: The key is empty, or no client could send it in a header.
    """

    def __init__(
        self, app: ASGIApp, *, key: str, open_paths: frozenset[str], on_refused: OnRefused, other: str | None = None
    ) -> None:
        # An empty key would be given by everybody who sends "Bearer " and nothing else.
        if not key or key != key.strip() or not key.isprintable():
            limit = "printable characters, no spaces at the ends"
            raise InvalidInputError("this API key cannot be sent in a header", field="key", limit=limit)
        self._app = app
        self._keys = [one.encode() for one in (key, other) if one]
        self._open_paths = open_paths
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it; what is neither HTTP nor a websocket is not judged."""
        if scope["type"] not in {"http", "websocket"} or (
            scope["type"] == "http" and scope["path"] in self._open_paths
        ):
            await self._app(scope, receive, send)
            return
        given = [_bearer(value) for value in headers_named(scope, b"authorization")]
        given += headers_named(scope, b"x-api-key")
        # All of them the same one: what carries two different keys was put together by two parties.
        if given and any(all(hmac.compare_digest(credential, key) for credential in given) for key in self._keys):
            await self._app(scope, receive, send)
            return
        self._on_refused("key")
        error = "the API key is wrong" if given else "this server wants an API key"
        hint = "send the server's key, and nothing else, as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
        await refuse(scope, send, 401, error=error, hint=hint, headers=[_CHALLENGE])


def _bearer(value: bytes) -> bytes:
    """Return the key of an ``Authorization`` header; one of another scheme holds what is never a key: nothing."""
    scheme, _, credential = value.partition(b" ")
    return credential.strip(b" ") if scheme.lower() == b"bearer" else b""
