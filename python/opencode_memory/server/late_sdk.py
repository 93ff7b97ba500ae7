"""Imports the MCP SDK in the background. Until then, requests that need it wait.

Importing the SDK takes about as long as everything else before the first answer. OpenCode's plugin needs that answer
early, and needs no SDK. Neither does a call of a reading tool (``direct_calls``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from opencode_memory.server.server_tasks import refuse_failed

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from opencode_memory.server.sdk_sessions import SdkSessions
    from opencode_memory.server.tool_calls import ToolCalls


class LateSdk:
    """``SdkSessions`` that are built in the background. Requests wait for them.

    Args:
        build: Imports the SDK and builds its sessions. Called on a thread, once, when the server starts.
    """

    def __init__(self, build: Callable[[], SdkSessions]) -> None:
        self._build = build
        self._sessions: SdkSessions | None = None
        self._is_built = anyio.Event()
        self._is_ending = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Build the sessions, and serve until the block ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            try:
                yield
            finally:
                self._is_ending.set()

    async def _run(self) -> None:
        try:
            sessions = await anyio.to_thread.run_sync(self._build)
            async with sessions.running():
                self._sessions = sessions
                self._is_built.set()
                await self._is_ending.wait()
            if not self._is_ending.is_set():
                raise RuntimeError("the sessions of the SDK have ended")
        finally:
            self._sessions = None
            self._is_built.set()  # Otherwise waiting requests would get no answer.

    async def wait_built(self) -> bool:
        """Wait until the sessions are built. Return whether they can be used."""
        await self._is_built.wait()
        return self._sessions is not None

    async def handle(self, scope: Scope, receive: Receive, send: Send, *, stateless: bool) -> None:
        """Handle a request as soon as the sessions are built; see ``SdkSessions.handle``."""
        await self.wait_built()
        if self._sessions is None:
            await refuse_failed(scope, send)
            return
        await self._sessions.handle(scope, receive, send, stateless=stateless)


def load_sessions(calls: ToolCalls, *, body_limit: int) -> SdkSessions:
    """Import the SDK and build its sessions.

    Args:
        calls: The tools that the sessions offer.
        body_limit: Maximum size of a request body in bytes.
    """
    from opencode_memory.server.sdk_sessions import SdkSessions  # noqa: PLC0415  loads the SDK

    return SdkSessions(calls, body_limit=body_limit)
