"""Answers requests of MCP clients with the SDK: those of a session, and single ones without a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from opencode_memory.server.app import build_server

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from opencode_memory.server.tool_calls import ToolCalls


class SdkSessions:
    """The two session managers of the SDK.

    Args:
        calls: The tools that both offer.
        body_limit: Maximum size of a request body in bytes.
    """

    def __init__(self, calls: ToolCalls, *, body_limit: int) -> None:
        server = build_server(calls)
        # Do not enable the SDK's host check: the guards in front of this app already check hosts and origins.
        self._with_session = StreamableHTTPSessionManager(server, max_request_body_size=body_limit)
        self._without = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=body_limit)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the block ends."""
        async with self._with_session.run(), self._without.run():
            yield

    async def handle(self, scope: Scope, receive: Receive, send: Send, *, stateless: bool) -> None:
        """Handle a request.

        Args:
            scope: The request.
            receive: Returns the parts of its body.
            send: Sends the answer.
            stateless: Whether the request belongs to no session and begins none.
        """
        manager = self._without if stateless else self._with_session
        await manager.handle_request(scope, receive, send)
