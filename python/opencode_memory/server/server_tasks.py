"""The tasks that run as long as the server: the MCP sessions, the loops and the learning.

If one fails, the others end with it, and the HTTP server goes on. So it reports the failure, and refuses requests. A
server in the background stays so until ``serve --detach`` replaces it. Any other server ends with an error, so that its
manager starts it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from opencode_memory.server.guards.refusal import refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

UNAVAILABLE: Final = 503
_LEAVE_SECONDS: Final = 10.0
"""Time for the answers to calls that are running when a task fails."""


class ServerTasks:
    """Knows whether the tasks of a server run."""

    def __init__(self) -> None:
        self._failure: str | None = None
        self._end: Callable[[], None] = lambda: None

    @property
    def have_failed(self) -> bool:
        """Whether a task has failed, so that the server refuses its clients."""
        return self._failure is not None

    def end_after_failure(self, end: Callable[[], None]) -> None:
        """Call a function, which ends the server, after a failure and when its clients are disconnected."""
        self._end = end

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the server is not usable; empty if it is."""
        return () if self._failure is None else (self._failure,)

    @asynccontextmanager
    async def watch(self, leave: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Note an error of the block, which runs the tasks.

        Args:
            leave: Disconnects the clients, after an error.
        """
        try:
            yield
        except BaseException as error:
            self._failure = f"a task of the server has failed ({_name(error)}, see the server log)"
            if isinstance(error, Exception):  # Otherwise the event loop ends.
                with anyio.move_on_after(_LEAVE_SECONDS):
                    await leave()
                self._end()
            raise

    def guard(self, app: ASGIApp, *, open_paths: frozenset[str]) -> ASGIApp:
        """Wrap an app so that it refuses requests after a failure, except those to the open paths."""

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            if self._failure is None or scope["type"] == "lifespan" or scope["path"] in open_paths:
                await app(scope, receive, send)
            else:
                await refuse_failed(scope, send)

        return handle


async def refuse_failed(scope: Scope, send: Send) -> None:
    """Refuse a request because a task of the server has failed."""
    hint = "opencode-memory serve --detach"
    await refuse(scope, send, UNAVAILABLE, error="a task of the server has failed", hint=hint)


def _name(error: BaseException) -> str:
    """Return the name of the class of the first error. Its text may contain what only the user may read."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
