"""``/bridge``: who may sit in OpenCode and talk to the server.

A plugin shows the token of a file that only its user reads.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.websockets import WebSocketDisconnect

from opencode_memory.server.client_project import ClientProjects
from opencode_memory.server.guards.refusal import OnRefused, headers_named
from opencode_memory.server.plugin.connection import Connection

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from opencode_memory.server.server_state import ServerState

MESSAGE_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a message. Events carry whole pictures; a larger one would cost the connection, and a turn its memories."""
_REFUSED: Final = 1008
_log: Final = logging.getLogger(__name__)


class Bridge:
    """The plugins of a server.

    Args:
        state: The server's state.
        token: What a plugin has to show.
        on_refused: Is told ``token``.
    """

    def __init__(self, state: ServerState, *, token: str, on_refused: OnRefused) -> None:
        self.state = state
        self.projects = ClientProjects(state, None)
        self._token = token.encode()
        self._on_refused = on_refused
        self._connections: set[Connection] = set()

    @property
    def plugins(self) -> int:
        """How many plugins are connected and will be answered quickly."""
        return sum(connection.is_ready for connection in tuple(self._connections))

    async def serve(self, socket: WebSocket) -> None:
        """Serve one plugin until it goes."""
        if not self._has_token(headers_named(socket.scope, b"authorization")):
            self._on_refused("token")
            await socket.close(_REFUSED, "this is not the token of the server")
            return
        await socket.accept()

        async def send(text: str) -> None:
            # Once it has gone there is nobody to tell; its end is seen where texts are read.
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_text(text)

        connection = Connection(self.state, self.projects, send)
        self._connections.add(connection)
        try:
            await connection.run(_texts(socket))
        finally:
            self._connections.discard(connection)

    def _has_token(self, credentials: Sequence[bytes]) -> bool:
        if len(credentials) != 1:
            return False
        scheme, _, shown = credentials[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(shown.strip(b" "), self._token)


async def _texts(socket: WebSocket) -> AsyncIterator[str]:
    while True:
        try:
            yield await socket.receive_text()
        except (WebSocketDisconnect, KeyError):
            # It has gone, or it sends bytes, which no plugin does.
            return
