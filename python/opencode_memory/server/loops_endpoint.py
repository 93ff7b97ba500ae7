"""``/loops``: commands of the same user tell the server that they changed a loop or a plan, and dialogs list loops."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.loops.approve import approve_plan
from opencode_memory.loops.describe import describe_phase
from opencode_memory.loops.records import Loops
from opencode_memory.loops.start import cancel_loop, pause_loop, resume_loop
from opencode_memory.plans import Mode, Plans, PlanStatus
from opencode_memory.server.guards.owner_token import OwnerToken, refuse_without_token
from opencode_memory.text import clock
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from starlette.requests import Request

    from opencode_memory.loops.keeper import Keeper
    from opencode_memory.server.server_state import ServerState

_REFUSED: Final = 400
_MOST_LISTED: Final = 50
_MOST_SHOWN: Final = 40_000
_SHOWN_FOR: Final = timedelta(days=1)
"""The sidebar shows an ended loop for so long; the list of loops goes on showing it."""


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
        self._token = OwnerToken(token)

    async def handle(self, request: Request) -> Response:
        """Answer GET with the loops and waiting plans of a folder's project, or with the text of one plan.

        POST does what the user chose.
        """
        if not self._token.is_in(request.scope):
            return refuse_without_token()
        directory, plan = request.query_params.get("directory", ""), request.query_params.get("plan")
        try:
            if request.method == "POST":
                return JSONResponse({"said": await self._take(request, directory)})
            if plan is not None:
                return JSONResponse({"text": await anyio.to_thread.run_sync(self._show, directory, plan)})
            return JSONResponse(await anyio.to_thread.run_sync(self._list, directory))
        except OpencodeMemoryError as error:
            return _refuse(error)

    async def _take(self, request: Request, directory: str) -> str:
        """Do what the user chose, if the request says anything, and wake the keeper. Return what was done."""
        try:
            asked = await request.json()
        except (ValueError, RecursionError):
            asked = None
        said = await anyio.to_thread.run_sync(self._act, directory, asked) if asked else ""
        self._keeper.wake()
        return said

    def _show(self, directory: str, plan: str) -> str:
        """Return the text of a plan; a long one is cut."""
        plans = Plans(self._state.store, self._state.projects.of_session(directory))
        text = plans.text(plans.get(plan))
        return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n… (`opencode-memory plan show {plan}`)"

    def _act(self, directory: str, asked: Any) -> str:
        """Do what the user chose in a dialog, and say what was done."""
        store, at = self._state.store, clock.now()
        project = self._state.projects.of_session(directory)
        match asked:
            case {"loop": str(id_), "action": "pause" | "resume" | "cancel" as action}:
                change = {"pause": pause_loop, "resume": resume_loop, "cancel": cancel_loop}[action]
                loop = change(store, Loops(store).find(id_, project), at=at)
                return f"The loop {loop.name} is {loop.state}."
            case {"plan": str(id_), "action": "send-back", "remark": str(remark)}:
                plan = Plans(store, project).send_back(Plans(store, project).get(id_), remark)
                return f"The plan {plan.title!r} was sent back."
            case {"plan": str(id_), "action": "approve", "mode": str(mode)} if mode in list(Mode):
                found = Plans(store, project).get(id_)
                folder = Path(found.directory or directory)
                if not folder.is_absolute():
                    # A relative path would be one in the server's own folder.
                    raise InvalidInputError(
                        "directory: the plan names no folder, so give the absolute path of one", field="directory"
                    )
                plan = approve_plan(
                    store, found, Mode(mode), directory=folder, by="dialog", config=self._state.config, at=at
                )
                return f"The plan {plan.title!r} is {plan.status}."
        raise InvalidInputError("action: is not known, or its fields are missing", field="action")

    def _list(self, directory: str) -> dict[str, Any]:
        project = self._state.projects.of_session(directory)
        if project is None or not self._state.config.terminal.loops:
            return {"loops": [], "plans": []}
        store = self._state.store
        loops = Loops(store)
        recent = clock.now() - _SHOWN_FOR
        found = []
        for loop in loops.list(project)[:_MOST_LISTED]:
            step = loops.last_step(loop)
            session = None if step is None else step.session
            todo = None if session is None or loop.state.has_ended else self._keeper.todos.find(session)
            more = {"phase": describe_phase(loop, step), "session": session, "todo": todo}
            in_sidebar = not loop.state.has_ended or (loop.changed_at or loop.created_at) > recent
            found.append({**to_json(loop), **more, "in_sidebar": in_sidebar})
        waiting = [plan for plan in Plans(store, project).list() if plan.status is PlanStatus.SUBMITTED]
        return {"loops": found, "plans": [to_json(plan) for plan in waiting[:_MOST_LISTED]]}


def _refuse(error: OpencodeMemoryError) -> Response:
    """Answer with an error and what to do about it."""
    said = str(error) if error.hint is None else f"{error}: {error.hint}"
    return JSONResponse({"error": said}, status_code=_REFUSED)
