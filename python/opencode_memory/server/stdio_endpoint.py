"""Endpoint ``/stdio``: serves a client of ``serve --stdio``, whose process only relays lines.

That process sends what it must have in common with this server. If anything differs, the server declines, and the
process serves its client itself.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from starlette.websockets import WebSocketDisconnect

import opencode_memory
from opencode_memory.resident.client import MOVED, describe
from opencode_memory.resident.stdio_client import ACCEPTED, describe_server
from opencode_memory.server.guards.owner_token import OwnerToken
from opencode_memory.server.socket_texts import read_texts
from opencode_memory.server.unanswered import Unanswered, request_id

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from opencode_memory.server.guards.refusal import OnRefused
    from opencode_memory.server.server_state import ServerState

_REFUSED: Final = 1008
_DECLINED: Final = 4009
_GREETING_SECONDS: Final = 10.0


class StdioEndpoint:
    """The endpoint for processes that serve a client over standard input and output.

    Args:
        state: The state of the server.
        token: The content of the token file, which only the user can read.
        on_refused: Called with ``token`` when a process is refused.
        wait_for_sdk: Waits until the server has imported the SDK; returns false if that failed.
    """

    def __init__(
        self, state: ServerState, *, token: str, on_refused: OnRefused, wait_for_sdk: Callable[[], Awaitable[bool]]
    ) -> None:
        self._state = state
        self._token = OwnerToken(token)
        self._on_refused = on_refused
        self._wait_for_sdk = wait_for_sdk
        self._common = describe(state.config, opencode_memory.__version__) | describe_server(state.config)
        self._clients: set[_Client] = set()

    async def leave(self) -> None:
        """Answer the requests that were read, and disconnect the processes, which send the others elsewhere."""
        async with anyio.create_task_group() as tasks:
            for client in tuple(self._clients):
                tasks.start_soon(client.leave)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one client until its process disconnects."""
        if not self._token.is_in(socket.scope):
            self._on_refused("token")
            await socket.close(_REFUSED, "the token is not the server's")
            return
        await socket.accept()
        client = _Client(socket)
        greeting = ""
        with anyio.move_on_after(_GREETING_SECONDS):
            greeting = await anext(client.lines(), "")
        folder = self._read_greeting(greeting)
        # If two threads import the SDK by different modules, each may get a module of it that is not complete yet.
        if folder is None or not await self._wait_for_sdk():
            with suppress(WebSocketDisconnect, RuntimeError):  # It may have disconnected.
                await socket.close(_DECLINED, "this server cannot do it for the process")
            return
        serve_client = await anyio.to_thread.run_sync(_load)
        await client.write(ACCEPTED)
        self._clients.add(client)
        try:
            await serve_client(self._state, folder, client)
        finally:
            self._clients.discard(client)

    def _read_greeting(self, text: str) -> Path | None:
        """Return the folder of the client; None if this server must not serve it."""
        try:
            greeting = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(greeting, dict) or any(greeting.get(name) != value for name, value in self._common.items()):
            return None
        folder = greeting.get("folder")
        if not isinstance(folder, str) or "\0" in folder or not Path(folder).is_absolute():
            return None
        return Path(folder)


class _Client:
    """The messages of one client, one per line."""

    def __init__(self, socket: WebSocket) -> None:
        self.unanswered = Unanswered()
        self._socket = socket
        self._is_leaving = False

    async def leave(self) -> None:
        """Ignore requests from now on, answer the earlier ones, and disconnect."""
        self._is_leaving = True
        await self.unanswered.wait()
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(MOVED, "the server is replaced")

    async def lines(self) -> AsyncIterator[str]:
        """Yield the messages of the client until it disconnects."""
        async for line in read_texts(self._socket):
            if not self._is_leaving or request_id(line) is None:
                yield line

    async def write(self, line: str) -> None:
        """Send a message to the client."""
        # A client that has disconnected cannot get an answer. ``lines`` notices its end.
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.send_text(line.rstrip("\n"))


def _load() -> Any:
    """Import the tools and what else they need, which takes long, so it runs on a thread when a client comes."""
    from opencode_memory.server.stdio import serve_lines  # noqa: PLC0415  see above
    from opencode_memory.server.tool_calls import ToolCalls  # noqa: PLC0415  see above

    async def serve_client(state: ServerState, folder: Path, client: _Client) -> None:
        await serve_lines(ToolCalls(state, folder=folder), client.lines(), client.write, unanswered=client.unanswered)

    return serve_client
