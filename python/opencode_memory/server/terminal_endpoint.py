"""``/terminal``: what OpenCode's terminal shows of the memory, and what the user does there.

The server words every line, so the terminal decides nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response

import opencode_memory
from opencode_memory.context.results import present
from opencode_memory.errors import InvalidInputError, NotFoundError, OpencodeMemoryError
from opencode_memory.learning.rejections import undo_operation
from opencode_memory.learning.review import accept, check_version, list_waiting, reject, version_of
from opencode_memory.models import Memory, Operation, Status, Trust
from opencode_memory.server.changes import CHANGES
from opencode_memory.server.guards.owner_token import OwnerToken, refuse_without_token
from opencode_memory.store.ledger import State
from opencode_memory.text import clock
from opencode_memory.text.display import clean, one_line
from opencode_memory.text.formatting import format_count, short_id

if TYPE_CHECKING:
    from starlette.requests import Request

    from opencode_memory.server.server_state import ServerState
    from opencode_memory.store.memory_store import MemoryStore

PATH: Final = "/terminal"
_REFUSED: Final = 400
_LISTED: Final = 100
_WAITING: Final = 50
_PROJECTS: Final = 50
_TOASTS: Final = 3
_LOOKED_AT: Final = 20
_LINE_BYTES: Final = 48
_TITLE_BYTES: Final = 110
_TOAST_BYTES: Final = 120
_LEARNS: Final = (Trust.EXTRACTED, Trust.AGENT)
"""Writers whose changes are told to the user, who made all others."""


class TerminalEndpoint:
    """The endpoint.

    Args:
        state: The state of the server.
        token: The content of the token file, which only the user can read.
        find_outdated: Returns the version of a folder's plugin if it is older than the server.
    """

    def __init__(
        self, state: ServerState, *, token: str, find_outdated: Callable[[str], str | None] = lambda _: None
    ) -> None:
        self._state = state
        self._find_outdated = find_outdated
        self._token = OwnerToken(token)
        self._recent: OrderedDict[str | None, tuple[int, list[Operation]]] = OrderedDict()

    async def handle(self, request: Request) -> Response:
        """Answer GET with the lines of the sidebar and new messages. POST lists memories, or changes one."""
        if not self._token.is_in(request.scope):
            return refuse_without_token()
        query = dict(request.query_params)
        asked: Any = None
        if request.method == "POST":
            try:
                asked = await request.json()
            except (ValueError, RecursionError):
                return JSONResponse({"error": "the request is not JSON"}, status_code=_REFUSED)
        try:
            found = await anyio.to_thread.run_sync(self._answer, query, asked)
        except OpencodeMemoryError as error:
            return JSONResponse({"error": str(error)}, status_code=_REFUSED)
        return JSONResponse(found)

    def _answer(self, query: dict[str, str], asked: Any) -> dict[str, Any]:
        directory = query.get("directory", "")
        project = self._state.projects.of_session(directory)
        store = self._state.store.acting_as(Trust.USER).for_project(project)
        if asked is None:
            outdated = self._find_outdated(directory)
            return self._show(store, query.get("session", ""), query.get("since", ""), outdated)
        match asked:
            case {"list": "beside", "session": str(session)}:
                return {"memories": [describe(store, memory) for memory in find_beside(store, session)]}
            case {"list": "review"}:
                waiting = islice(list_waiting(store, everywhere=False), _WAITING)
                return {"memories": [describe(store, memory) for memory in waiting]}
            case {"list": "newest"}:
                return {"memories": [describe(store, memory) for memory in store.list(limit=_LISTED)]}
            case {"list": "search", "query": str(words)}:
                results = present(store, store.recall(words, limit=_WAITING))
                return {"memories": [describe(store, result.hit.memory) for result in results]}
            case {"memory": str(id_), "version": str(version), "action": str(action)}:
                memory = store.get(id_)
                check_version(memory, version)
                return {"said": change(store, memory, action, asked.get("text"))}
            case {"undo": True}:
                return {"said": undo(store)}
        raise InvalidInputError("the request is not known, or its fields are missing", field="list")

    def _show(self, store: MemoryStore, session: str, since: str, outdated: str | None) -> dict[str, Any]:
        config = self._state.config.terminal
        operations = self._read_recent(store)
        last = operations[0].operation if operations else 0
        known = int(since) if since.isdecimal() and len(since) <= len(str(last)) else last
        new = [one for one in operations if one.operation > known and one.actor in _LEARNS]
        toasts = list(islice((text for one in new for text in describe_toasts(one)), _TOASTS))
        learned = next((one for one in operations if one.actor in _LEARNS and _holds(store, one)), None)
        lines = []
        if outdated is not None:
            restart = f"restart OpenCode: old plugin {outdated}"
            lines.append({"text": one_line(restart, _LINE_BYTES), "open": "", "kind": "warning"})
        if count := len(find_beside(store, session)):
            lines.append({"text": f"{count} beside this session", "open": "beside", "kind": "info"})
        waiting = sum(1 for _ in islice(list_waiting(store, everywhere=False), _WAITING))
        if waiting:
            many = f"{waiting}+" if waiting == _WAITING else str(waiting)
            verb = "waits" if waiting == 1 else "wait"
            lines.append({"text": f"{many} {verb} for review", "open": "review", "kind": "warning"})
        if learned is not None and (text := next(describe_toasts(learned), None)):
            lines.append({"text": one_line(text, _LINE_BYTES), "open": "newest", "kind": "muted"})
        problems = self._state.background.problems()
        if problems:
            lines.append({"text": one_line(problems[0], _LINE_BYTES), "open": "", "kind": "warning"})
        version = f" {opencode_memory.__version__}" if config.version else ""
        return {
            "title": f"Memory{version}",
            "lines": lines if config.memory else [],
            "toasts": toasts if config.toasts else [],
            "last": last,
        }

    def _read_recent(self, store: MemoryStore) -> list[Operation]:
        """Return the last operations of a project. They are read only after a change, because a terminal asks often."""
        newest = store.operations.list(limit=1)
        mark = newest[0].operation if newest else 0
        known = self._recent.get(store.project)
        if known is None or known[0] != mark:
            known = (mark, store.operations.list(project=store.project, limit=_LOOKED_AT))
            self._recent[store.project] = known
            while len(self._recent) > _PROJECTS:
                self._recent.popitem(last=False)
        return known[1]


def find_beside(store: MemoryStore, session: str) -> list[Memory]:
    """Return the memories that a session was shown and that are still there, the last shown first."""
    if not session:
        return []
    ids = {
        shown.memory: None
        for decision in reversed(store.ledger.decisions(session))
        if decision.state in {State.SHOWN, State.OFFERED}
        for shown in decision.shown
    }
    return list(_read_existing(store, list(ids)))


def _holds(store: MemoryStore, operation: Operation) -> bool:
    """Return whether what an operation has learned was not undone, archived or deleted since."""
    kept = _read_existing(store, [change.id for change in operation.changes[:1]])
    return any(memory.status in {Status.ACTIVE, Status.CANDIDATE} for memory in kept)


def _read_existing(store: MemoryStore, ids: Sequence[str]) -> Iterator[Memory]:
    for id_ in ids:
        try:
            yield store.get(id_)
        except NotFoundError:
            continue


def describe(store: MemoryStore, memory: Memory) -> dict[str, Any]:
    """Return a memory for a dialog: its line, its facts, why it was shown, and what can be done."""
    waits = memory.status is Status.CANDIDATE or memory.is_withheld
    actions = [("accept", "Accept"), ("reject", "Reject")] if waits else []
    actions.append(("edit", "Edit"))
    actions.append(("unpin", "Unpin") if memory.pinned else ("pin", "Pin"))
    if not waits:
        actions.append(("archive", "Archive") if memory.status is Status.ACTIVE else ("restore", "Restore"))
    useful = store.ledger.usefulness([memory.id]).get(memory.id)
    said_at = clock.age(memory.time, at=clock.now())
    facts = [
        f"{memory.category}, {memory.trust}, {said_at}, {memory.project or 'all projects'}",
        f"recalled {format_count(memory.uses, 'time')}"
        + (f", shown in {format_count(useful.shown, 'session')}, used in {useful.used}" if useful else ""),
    ]
    if isinstance(evidence := memory.metadata.get("evidence"), str):
        facts.append(f"said as: {one_line(evidence, _TITLE_BYTES)}")
    return {
        "id": memory.id,
        "version": version_of(memory),
        "title": one_line(memory.content, _TITLE_BYTES),
        "detail": f"{memory.category} {short_id(memory.id)}",
        "text": clean(memory.content),
        "facts": facts,
        "actions": [{"value": value, "title": title} for value, title in actions],
    }


def describe_toasts(operation: Operation) -> Iterator[str]:
    """Yield what an operation has learned, in short sentences."""
    replaced = [change.before.content for change in operation.changes if change.kind == "supersede" and change.before]
    for change in operation.changes:
        if change.kind not in {"create", "update"} or change.after is None:
            continue
        text = one_line(change.after.content, _TOAST_BYTES // 2)
        if change.after.status is Status.CANDIDATE:
            yield f"waits for review: {text}"
        elif replaced:
            yield f"replaced: {one_line(replaced.pop(0), _TOAST_BYTES // 2)} → {text}"
        else:
            yield f"remembered: {text}"


def change(store: MemoryStore, memory: Memory, action: str, text: object) -> str:
    """Do what the user chose, and say what was done.

    Raises:
        InvalidInputError: The action or its text is missing.
    """
    if action in CHANGES:
        said, act = CHANGES[action]
        act(store, [memory.id])
        return f"{said}: {one_line(memory.content, _TOAST_BYTES)}"
    match action, text:
        case "accept", _:
            accept(store, memory)
            return "Accepted."
        case "reject", _:
            reject(store, memory)
            return "Rejected. It is not learned again."
        case "edit", str(words) if words.strip():
            # The dialog shows the text without invisible characters.
            is_same = words.strip() == clean(memory.content).strip()
            if memory.status is Status.CANDIDATE or memory.is_withheld:
                accept(store, memory, None if is_same else words.strip())
            elif is_same:
                return "Nothing changed."
            else:
                store.edit(memory.id, content=words.strip())
            return "Changed."
    raise InvalidInputError(f"action: {action[:40]!r} is not known, or its text is missing", field="action")


def undo(store: MemoryStore) -> str:
    """Undo the last change of the user in the project, and say what it was.

    Raises:
        NotFoundError: There is none.
    """
    found = store.operations.list(project=store.project, actor=Trust.USER, undone=False, limit=1)
    if not found:
        raise NotFoundError("you have changed nothing in this project", id="")
    undone = undo_operation(store, found[0].operation)
    memory = undone[0].before or found[0].changes[0].after
    what = format_count(len(undone), "change") if memory is None else one_line(memory.content, _TOAST_BYTES)
    return f"Undone: {what}"
