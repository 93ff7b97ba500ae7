"""Rate limit per client.

A client must not be able to invent the key by which it is counted. The address of another machine is such a key; a
header is not. On this machine all clients share one address, and two busy agents must not block each other. So local
clients are counted by session id, if that session exists. A local client may open many sessions, which is acceptable:
it can only slow down its own user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.resident.peer_owner import parse_address
from opencode_memory.server.guards.buckets import Buckets
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse


class RateLimit:
    """Refuses (429) requests above a limit per minute.

    Local clients are counted by ``mcp-session-id`` if that session exists, otherwise by connection. Remote clients are
    counted by address, and by /64 network for IPv6.

    Args:
        app: The app behind this guard.
        per_minute: Maximum number of requests at once, and per minute after that; 0 for no limit.
        known_session: Returns whether a session id exists. Called for each local request that carries one.
        clock: Monotonic clock, in seconds.
        on_refused: Called with ``rate`` for each refusal.
        exempt: Exact paths that are not counted.

    Raises:
        InvalidInputError: ``per_minute`` is negative.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        per_minute: int,
        known_session: Callable[[str], bool],
        clock: Callable[[], float],
        on_refused: OnRefused,
        exempt: frozenset[str] = frozenset(),
    ) -> None:
        if per_minute < 0:
            raise InvalidInputError(
                f"{per_minute} is not a valid rate limit", field="per_minute", limit="0 (no limit) or more"
            )
        self._app = app
        self._buckets = Buckets(per_minute=per_minute, clock=clock) if per_minute else None
        self._known_session = known_session
        self._on_refused = on_refused
        self._exempt = exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it. Other protocols than HTTP and WebSocket are not counted."""
        if self._buckets is None or scope["type"] not in {"http", "websocket"} or scope["path"] in self._exempt:
            await self._app(scope, receive, send)
            return
        wait = self._buckets.take(self._client(scope))
        if not wait:
            await self._app(scope, receive, send)
            return
        seconds = math.ceil(wait)
        self._on_refused("rate")
        await refuse(
            scope,
            send,
            429,
            error="too many requests",
            hint=f"try again in {seconds} s, or raise server.rate_limit",
            headers=[(b"retry-after", b"%d" % seconds)],
        )

    def _client(self, scope: Scope) -> Hashable:
        # A client of a UNIX socket has no address; it is a local client.
        host, port = scope.get("client") or ("", 0)
        address = parse_address(host)
        if not host or (address is not None and address.is_loopback):
            sessions = headers_named(scope, b"mcp-session-id")
            if len(sessions) == 1 and self._known_session(session := sessions[0].decode("latin-1")):
                return "session", session
            return "connection", host, port
        if isinstance(address, IPv6Address):
            return "network", address.packed[:8]
        return "address", str(address or host)
