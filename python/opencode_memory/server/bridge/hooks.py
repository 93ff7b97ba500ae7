"""What a hook of OpenCode asks, answered on a thread: what stands beside a message, what a command or a tool does."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory import clock
from opencode_memory.errors import ConflictError, InvalidInputError, OpencodeMemoryError
from opencode_memory.findings import branch_of, open_findings
from opencode_memory.injection.compaction import compacting as put_together
from opencode_memory.injection.compaction import for_compaction
from opencode_memory.injection.deciding import Request, decide
from opencode_memory.ledger import Decision, State
from opencode_memory.opencode.commands import run_command
from opencode_memory.opencode.commands.manifest import TAG
from opencode_memory.opencode.tools import TOOLS
from opencode_memory.server.app import told
from opencode_memory.server.bridge.protocol import member, name, names, optional_text, text
from opencode_memory.server.call import SessionCall
from opencode_memory.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.server.bridge.opencode import SessionFacts
    from opencode_memory.server.state import State as Server
    from opencode_memory.server.whose import Whereabouts

_TRIES: Final = 3
_OURS: Final = "the session is this program's own"
_STATES: Final = {"shown": State.SHOWN, "late": State.LATE}
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Here:
    """Where a plugin sits, and what serves it.

    Attributes:
        server: The server's state.
        whereabouts: Finds the project of a folder.
        folder: The folder of its instance of OpenCode.
    """

    server: Server
    whereabouts: Whereabouts
    folder: Path

    @cached_property
    def project(self) -> str | None:
        """The project of the folder."""
        return self.whereabouts.place((self.folder,)).project

    def call(self, *, session: str, message: str | None = None, agent: str | None = None) -> SessionCall:
        """Return what a tool is given."""
        place = self.whereabouts.place((self.folder,))
        return SessionCall(self.server, place, clock.now(), session=session, message=message, agent=agent)


def messages(here: Here, params: Any, facts: SessionFacts) -> dict[str, Any]:
    """Decide what stands beside a message, and say what stands beside the others that the model still sees."""
    session = name(params, "sessionID")
    asked = member(params, "message")
    request = Request(
        session=session,
        message=name(asked, "id"),
        text=_looked_up(text(asked, "text"), optional_text(params, "summary")),
        project=here.project,
        visible=names(params, "visible"),
        is_subagent=facts.parent is not None,
        skip=_OURS if facts.is_ours else "",
    )
    decision = _decided(here.server, request)
    blocks = {
        one.message: one.text
        for one in here.server.store.ledger.decisions(session)
        if one.text and one.message in request.visible and one.state is State.SHOWN
    }
    if decision.text and decision.state in {State.OFFERED, State.SHOWN}:
        blocks[decision.message] = decision.text
    return {"blocks": blocks}


def _looked_up(written: str, summary: str) -> str:
    """Return what a message is about; where OpenCode itself goes on, what the session was about."""
    if written.startswith(f"<{TAG}>"):
        return ""  # A command of ours, which has brought what there is.
    return written or summary


def _decided(server: Server, request: Request) -> Decision:
    for _ in range(_TRIES):
        try:
            return decide(
                server.store, request, config=server.config.injection, count=server.count_tokens, at=clock.now()
            )
        except ConflictError:
            continue  # A memory went between looking and noting.
    raise ConflictError(f"memories change faster than message {request.message} can be decided on")


def settled(here: Here, params: Any) -> None:
    """Note whether a decision arrived in time; one that was never made is made so: it came too late."""
    session, message = name(params, "sessionID"), name(params, "messageID")
    state = _STATES.get(text(params, "state"))
    if state is None:
        raise InvalidInputError("state: expected shown or late", field="state")
    ledger = here.server.store.ledger
    if ledger.settle(session, message, state) or state is State.SHOWN:
        return
    ledger.decide(
        Decision(
            session=session,
            message=message,
            project=here.project,
            state=State.LATE,
            about={"kind": "message", "reason": "no answer in time"},
        )
    )


def compacting(here: Here, session: str, facts: SessionFacts, previous: str | None) -> dict[str, Any]:
    """Say what a compaction must not lose."""
    server = here.server
    config = server.config.compaction
    if not config.enabled or facts.is_ours:
        return {"context": []}
    now = clock.now()
    branch = branch_of(here.folder)
    block = for_compaction(
        server.store,
        session=session,
        project=here.project,
        findings=[one.line_of_text for one in open_findings(server.store, here.project, branch)],
        max_tokens=config.max_tokens,
        count=server.count_tokens,
        at=now,
    )
    given = put_together(block, custom_prompt=config.custom_prompt, previous=previous)
    if block.text:
        server.store.ledger.decide(
            Decision(
                session=session,
                message=f"compaction:{round(now.timestamp() * 1000)}",
                project=here.project,
                state=State.SHOWN,
                tokens=block.tokens,
                # It is sent once, so its text is not kept, which a purge would have to find.
                about={"kind": "compaction", "memories": [one.id for one in block.shown]},
            )
        )
    answer: dict[str, Any] = {"context": list(given.context)}
    return answer if given.prompt is None else answer | {"prompt": given.prompt}


def command(here: Here, params: Any) -> dict[str, Any]:
    """Carry out a slash command; the text takes the place of the command's own."""
    call = here.call(session=name(params, "sessionID"))
    try:
        said = run_command(call, name(params, "command"), text(params, "arguments"))
    except OpencodeMemoryError as error:
        said = f"The command could not be carried out: {told(error)}. Tell the user so in one line; do nothing else."
    here.whereabouts.entered((here.folder,))
    here.server.wake_worker()
    return {} if said is None else {"text": said}


def tool(here: Here, params: Any) -> dict[str, Any]:
    """Run a tool of the plugin."""
    known = {one.name: one for one in TOOLS}
    asked = name(params, "tool")
    arguments = member(params, "arguments")
    if asked not in known:
        return {"text": f"there is no tool {asked[:80]!r}; {did_you_mean(asked[:80], known)}", "is_error": True}
    if not isinstance(arguments, Mapping):
        return {"text": "arguments: expected an object", "is_error": True}
    call = here.call(
        session=name(params, "sessionID"),
        message=optional_text(params, "messageID") or None,
        agent=optional_text(params, "agent") or None,
    )
    begun, outcome = time.perf_counter(), "error"
    try:
        answer = known[asked].run(call, **known[asked].check(arguments))
        outcome = "ok"
    except OpencodeMemoryError as error:
        outcome = "refused"
        return {"text": told(error), "is_error": True}
    except Exception:  # noqa: BLE001  whatever it is, the model is told that it failed
        _log.exception("the tool %s failed", asked)
        return {"text": f"{asked} failed for a reason of its own, which is in the server's log", "is_error": True}
    finally:
        here.server.count_call(asked, outcome, time.perf_counter() - begun)
    if not known[asked].reads:
        here.whereabouts.entered((here.folder,))
        here.server.wake_worker()
    return {"text": answer.text, "is_error": False}
