"""Endpoint ``/bridge``: authenticates plugins and serves each on a connection of its own.

A plugin sends the token from a file that only its user can read.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from starlette.websockets import WebSocketDisconnect

from opencode_memory.config.sections import SandboxMode
from opencode_memory.loops.keeper import Keeper
from opencode_memory.loops.own_host import OwnHost
from opencode_memory.loops.sandbox import write_shim
from opencode_memory.resident.client import MOVED
from opencode_memory.server.client_project import ClientProjects
from opencode_memory.server.guards.owner_token import OwnerToken
from opencode_memory.server.guards.refusal import OnRefused
from opencode_memory.server.plugin.connection import Connection
from opencode_memory.server.plugin.digest_runner import DigestRunner
from opencode_memory.server.plugin.learning_switch import LearningSwitch
from opencode_memory.server.socket_texts import read_texts
from opencode_memory.service.versions import is_older

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from opencode_memory.server.server_state import ServerState

MESSAGE_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a message. Events contain whole pictures, and a larger message would end the connection."""
GREETING_SECONDS: Final = 30.0
"""Time for the greeting of a plugin, which sends it at once and waits some seconds for the answer."""
_REFUSED: Final = 1008
_UNUSED_SECONDS: Final = 600.0
_log: Final = logging.getLogger(__name__)


class Bridge:
    """All plugins of a server.

    Args:
        state: The server's state.
        token: The token that a plugin must send.
        on_refused: Called with ``token`` when a plugin is refused.
    """

    def __init__(self, state: ServerState, *, token: str, on_refused: OnRefused) -> None:
        self.state = state
        self.projects = ClientProjects(state, None)
        self._token = OwnerToken(token)
        self._on_refused = on_refused
        self._digests = DigestRunner(state)
        if state.config.sandbox.mode is not SandboxMode.OFF:
            # Before the plugin reads its configuration, which names this file.
            write_shim(state.store.data_dir)
        own = OwnHost(state.store.data_dir, state.config.environment)
        self.loops = Keeper(state.store, state.config.loop, state.projects.of_session, own)
        self._connections: dict[Connection, WebSocket] = {}
        seconds = max(_UNUSED_SECONDS, 2.0 * state.config.learning.rest_seconds)
        self.learning = LearningSwitch(state.background.let_learn, seconds=seconds)

    @property
    def plugins(self) -> int:
        """Number of plugins that are connected and warmed up."""
        return sum(connection.is_ready for connection in tuple(self._connections))

    @property
    def plugin_versions(self) -> list[str]:
        """Versions of the plugins that are connected, each once. OpenCode keeps the plugin with which it started."""
        return sorted({connection.version for connection in tuple(self._connections) if connection.version})

    def find_outdated(self, directory: str) -> str | None:
        """Return the version of an older plugin that is connected from a folder.

        None if no plugin is connected from there, or if none is older than the server.
        """
        versions = (one.version for one in tuple(self._connections) if one.directory == directory)
        return next(filter(is_older, versions), None)

    async def leave(self) -> None:
        """Answer the requests that were read, and disconnect the plugins, which send the others to the next server."""

        async def leave_one(connection: Connection, socket: WebSocket) -> None:
            await connection.peer.leave()
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.close(MOVED, "the server is replaced")

        async with anyio.create_task_group() as tasks:
            for connection, socket in tuple(self._connections.items()):
                tasks.start_soon(leave_one, connection, socket)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one plugin until it disconnects."""
        if not self._token.is_in(socket.scope):
            self._on_refused("token")
            await socket.close(_REFUSED, "the token is not the server's")
            return
        await socket.accept()

        async def send(text: str) -> None:
            # A plugin that has disconnected cannot get an answer. ``read_texts`` notices its end.
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_text(text)

        connection = Connection(self.state, self.projects, self._digests, self.loops, send)
        self._connections[connection] = socket
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_close_silent, connection, socket)
                with self.learning.used():
                    await connection.run(read_texts(socket))
                tasks.cancel_scope.cancel()
        finally:
            del self._connections[connection]


async def _close_silent(connection: Connection, socket: WebSocket) -> None:
    """Close a connection whose plugin sends no valid greeting in time, so that it costs no file for ever."""
    with anyio.move_on_after(GREETING_SECONDS):
        await connection.is_greeted.wait()
        return
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.close(_REFUSED, "the plugin sent no greeting in time")
