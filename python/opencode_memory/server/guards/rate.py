"""How often one client may ask.

Who "one client" is has to be something that it cannot make up. An address of another machine is; a header is not, but
for the id of a session that exists, and on this machine only: there all clients share an address, and two busy agents
must not lock each other out, while one that talks to itself may have as many sessions as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards.buckets import Buckets
from opencode_memory.server.guards.peer_owner import parse_address
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse


class RateLimit:
    """Refuses (429) requests beyond so many a minute.

    Peers of this machine are told apart by ``mcp-session-id`` if there is such a session, else by connection; others by
    address, and those of one IPv6 network (/64) are one.

    Args:
        app: What stands behind.
        per_minute: Requests that may come at once, and in each minute after; 0 for no limit.
        known_session: Whether there is a session of that id. Called for each request of this machine that names one.
        clock: Seconds, never going back.
        on_refused: Is told ``rate``.
        exempt: Paths that are not counted, compared as a whole.

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
                f"{per_minute} requests a minute cannot be meant", field="per_minute", limit="0 (no limit) or more"
            )
        self._app = app
        self._buckets = Buckets(per_minute=per_minute, clock=clock) if per_minute else None
        self._known_session = known_session
        self._on_refused = on_refused
        self._exempt = exempt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it; what is neither HTTP nor a websocket is not counted."""
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
            hint=f"ask again in {seconds} s, or raise the rate limit of the server",
            headers=[(b"retry-after", b"%d" % seconds)],
        )

    def _client(self, scope: Scope) -> Hashable:
        # None is a client without an address, of a UNIX socket, and so of this machine.
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
