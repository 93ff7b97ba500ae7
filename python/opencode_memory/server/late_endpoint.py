"""``/mcp`` while the SDK is still being imported: the server answers all other routes meanwhile.

Importing the SDK takes about as long as everything else before the first answer. OpenCode's plugin needs that answer
early, and needs no SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from opencode_memory.server.client_project import Described
    from opencode_memory.server.mcp_endpoint import McpEndpoint
    from opencode_memory.server.server_state import ServerState


class LateEndpoint:
    """An ``McpEndpoint`` that is built in the background. Requests wait for it.

    Args:
        build: Imports and builds the endpoint. Called on a thread, once, when the server starts.
        adopted: The sessions of the server that this one replaces.
    """

    def __init__(self, build: Callable[[], McpEndpoint], adopted: Described = MappingProxyType({})) -> None:
        self._build = build
        self._adopted = adopted
        self._endpoint: McpEndpoint | None = None
        self._is_built = anyio.Event()
        self._is_ending = anyio.Event()

    async def drain(self) -> None:
        """Refuse new requests, and wait until running requests are answered."""
        await self._is_built.wait()
        if self._endpoint is not None:
            await self._endpoint.drain()

    def knows(self, session: str) -> bool:
        """Check whether a session was started or adopted here and is not known to have ended."""
        return session in self._adopted if self._endpoint is None else self._endpoint.knows(session)

    def describe_sessions(self) -> Described:
        """Return the sessions and what is known of their folders, for a server that replaces this one."""
        return self._adopted if self._endpoint is None else self._endpoint.describe_sessions()

    @property
    def sessions(self) -> int:
        """The number of known sessions."""
        return 0 if self._endpoint is None else self._endpoint.sessions

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Build the endpoint, and serve until the block ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            try:
                yield
            finally:
                self._is_ending.set()

    async def _run(self) -> None:
        endpoint = await anyio.to_thread.run_sync(self._build)
        endpoint.adopt(self._adopted)
        async with endpoint.running():
            self._endpoint = endpoint
            self._is_built.set()
            await self._is_ending.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as soon as the endpoint is built."""
        await self._is_built.wait()
        assert self._endpoint is not None  # noqa: S101  built before the event is set
        await self._endpoint(scope, receive, send)


def load_endpoint(state: ServerState, *, plugged: bool, body_limit: int) -> McpEndpoint:
    """Import the SDK and build the endpoint.

    Args:
        state: The state of the server.
        plugged: Whether the clients of the endpoint have the plugin; see ``ToolCalls``.
        body_limit: Maximum size of a request body in bytes.
    """
    from opencode_memory.server.mcp_endpoint import McpEndpoint  # noqa: PLC0415  loads the SDK
    from opencode_memory.server.tool_calls import ToolCalls  # noqa: PLC0415  loads every tool

    return McpEndpoint(ToolCalls(state, plugged=plugged), body_limit=body_limit)
