"""``/loops``: commands of the same user tell the server that they changed a loop or a plan, and dialogs list loops."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response

from opencode_memory.loops.describe import describe_phase
from opencode_memory.loops.records import Loops
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from starlette.requests import Request

    from opencode_memory.loops.keeper import Keeper
    from opencode_memory.server.server_state import ServerState

_UNAUTHORIZED: Final = 401
_MOST_LISTED: Final = 50


class LoopsEndpoint:
    """The endpoint.

    Args:
        state: The state of the server.
        keeper: Runs the loops.
        token: The content of the token file, which only the user can read.
    """

    def __init__(self, state: ServerState, keeper: Keeper, *, token: str) -> None:
        self._state = state
        self._keeper = keeper
        self._authorization = f"Bearer {token}".encode()

    async def handle(self, request: Request) -> Response:
        """Answer GET with the loops of a folder's project, and POST by looking for changes."""
        given = request.headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, self._authorization):
            return JSONResponse({"error": "the token of the store is required"}, status_code=_UNAUTHORIZED)
        if request.method == "POST":
            self._keeper.wake()
            return JSONResponse({})
        directory = request.query_params.get("directory", "")
        return JSONResponse({"loops": await anyio.to_thread.run_sync(self._list, directory)})

    def _list(self, directory: str) -> list[dict[str, Any]]:
        project = self._state.projects.of_session(directory)
        loops = Loops(self._state.store)
        found = []
        for loop in loops.list(project)[:_MOST_LISTED] if project is not None else []:
            step = loops.step(loop.id, loop.steps)
            session = None if step is None else step.session
            phase = describe_phase(loop, step)
            found.append({**to_json(loop), "phase": phase, "session": session})
        return found
