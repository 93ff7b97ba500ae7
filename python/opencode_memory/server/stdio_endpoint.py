"""Endpoint ``/stdio``: serves a client of ``serve --stdio``, whose process only relays lines.

That process sends what it must have in common with this server. If anything differs, the server declines, and the
process serves its client itself.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.websockets import WebSocketDisconnect

import opencode_memory
from opencode_memory.resident.client import describe
from opencode_memory.resident.stdio_client import ACCEPTED, describe_tools
from opencode_memory.server.guards.owner_token import OwnerToken

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from opencode_memory.server.guards.refusal import OnRefused
    from opencode_memory.server.server_state import ServerState

_REFUSED: Final = 1008
_DECLINED: Final = 4009


class StdioEndpoint:
    """The endpoint for processes that serve a client over standard input and output.

    Args:
        state: The state of the server.
        token: The content of the token file, which only the user can read.
        on_refused: Called with ``token`` when a process is refused.
    """

    def __init__(self, state: ServerState, *, token: str, on_refused: OnRefused) -> None:
        self._state = state
        self._token = OwnerToken(token)
        self._on_refused = on_refused
        self._common = describe(state.config, opencode_memory.__version__) | describe_tools(state.config)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one client until its process disconnects."""
        if not self._token.is_in(socket.scope):
            self._on_refused("token")
            await socket.close(_REFUSED, "the token is not the server's")
            return
        await socket.accept()
        lines = _lines(socket)
        folder = self._read_greeting(await anext(lines, ""))
        if folder is None:
            await socket.close(_DECLINED, "this server cannot do it for the process")
            return
        from opencode_memory.server.tool_calls import ToolCalls  # noqa: PLC0415  see below

        # Importing the SDK takes long, so do it on a thread, and not before it is needed.
        serve_lines = await anyio.to_thread.run_sync(_load)
        await socket.send_text(ACCEPTED)

        async def write(line: str) -> None:
            # A client that has disconnected cannot get an answer. ``_lines`` notices its end.
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_text(line.rstrip("\n"))

        await serve_lines(ToolCalls(self._state, folder=folder), lines, write)

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


def _load() -> Any:
    from opencode_memory.server.stdio import serve_lines  # noqa: PLC0415  the point of this function

    return serve_lines


async def _lines(socket: WebSocket) -> AsyncIterator[str]:
    while True:
        try:
            yield await socket.receive_text()
        except (WebSocketDisconnect, KeyError):
            # The process has ended, or it sends bytes, which it never does.
            return
