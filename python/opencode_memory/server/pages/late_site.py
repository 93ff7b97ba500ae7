"""Loads the pages when a browser first asks for one, so that a server without visitors does not pay for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from opencode_memory.server.server_state import ServerState


class LateSite:
    """The app of the pages, which is built by the first request.

    Args:
        state: The state of the server.
        token: The content of the token file.
    """

    def __init__(self, state: ServerState, token: str) -> None:
        self._state = state
        self._token = token
        self._site: ASGIApp | None = None
        self._lock = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        async with self._lock:
            if self._site is None:
                self._site = await anyio.to_thread.run_sync(self._build)
        await self._site(scope, receive, send)

    def _build(self) -> ASGIApp:
        from opencode_memory.server.pages.site import build_site  # noqa: PLC0415  see above

        return build_site(self._state, token=self._token)
