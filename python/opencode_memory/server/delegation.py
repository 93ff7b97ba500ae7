"""``/delegate``: operations that commands of the same user leave to the resident server.

A command sends what it must have in common with the server: version, store and settings. If anything differs, the
server declines, and the command does the work itself. Only operations that read are delegated, so a command may repeat
what got no answer.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from starlette.responses import JSONResponse, Response

import opencode_memory
from opencode_memory.resident.client import describe
from opencode_memory.server.guards.owner_token import OwnerToken, refuse_without_token

if TYPE_CHECKING:
    from starlette.requests import Request

    from opencode_memory.server.server_state import ServerState

_THREADS: Final = 4
_DECLINED: Final = 409
_log: Final = logging.getLogger(__name__)


class Delegation:
    """The endpoint for commands.

    Args:
        state: The state of the server, with the operations that it carries out.
        token: The content of the token file, which only the user can read.
    """

    def __init__(self, state: ServerState, *, token: str) -> None:
        self._state = state
        self._token = OwnerToken(token)
        self._common = describe(state.config, opencode_memory.__version__)
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def handle(self, request: Request) -> Response:
        """Carry out an operation, or decline it."""
        if not self._token.is_in(request.scope):
            return refuse_without_token()
        try:
            document = await request.json()
        except (ValueError, RecursionError):
            document = None
        result = await anyio.to_thread.run_sync(self._run, document, limiter=self._limiter)
        if result is None:
            return JSONResponse({"error": "this server cannot do it for the command"}, status_code=_DECLINED)
        return JSONResponse(result)

    def _run(self, document: Any) -> dict[str, Any] | None:
        if not isinstance(document, dict) or any(document.get(name) != value for name, value in self._common.items()):
            return None
        operation = self._state.operations.get(str(document.get("operation")))
        if operation is None:
            return None
        try:
            return operation(self._state.store, document.get("request"))
        except Exception:  # noqa: BLE001  the command repeats the work and reports its own error
            _log.debug("a delegated operation failed", exc_info=True)
            return None
