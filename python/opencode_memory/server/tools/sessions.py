"""Tools that coordinate agents which work at the same time: sessions and claims."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from opencode_memory import entities
from opencode_memory.context.recent_sessions import SESSION_TAG
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.models import Scope, Session
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Content, ItemRef, SessionId
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id
from opencode_memory.text.json_values import to_json

_WorkingOn = Annotated[str | None, Field(max_length=500)]


@tool(repeats=True, answers=shape(session="object", others="array"))
def session_start(call: Call, session_id: SessionId, working_on: _WorkingOn = None) -> Answer:
    """Tell other agents what you work on. Calling it again after a restart keeps your claims."""
    session = call.store.sessions.start(
        session_id, working_on=working_on, lease_seconds=_lease(call), project=call.client.project
    )
    others = [other for other in call.store.sessions.active(project=call.client.project) if other.id != session.id]
    text = join_lines(
        f"Session {one_line(session.id, 80)} is active. It expires after {_lease(call)} seconds without a call."
        f"{_describe_claims(call, session)}",
        f"Other active sessions ({len(others)}):" if others else None,
        *(format_session(call, other) for other in others),
    )
    return Answer(text, {"session": to_json(session), "others": to_json(others)})


@tool(repeats=True)
def session_heartbeat(call: Call, session_id: SessionId) -> Answer:
    """Keep a session and its claims alive during long work."""
    session = call.store.sessions.heartbeat(session_id, lease_seconds=_lease(call), project=call.client.project)
    text = f"The lease expires {age(session.lease_until, at=call.at)}.{_describe_claims(call, session)}"
    return Answer(text, {"session": to_json(session)})


@tool(repeats=True, answers=shape(session="object", released="array"))
def session_end(call: Call, session_id: SessionId, summary: Content | None = None) -> Answer:
    """End a session, release its claims and store its summary."""
    if summary is not None and not summary.strip():
        raise InvalidInputError("summary: must not be empty; leave it out", field="summary")
    session = call.store.sessions.end(session_id, project=call.client.project)
    released = [claim.item for claim in session.claims]
    claims = f" and released {', '.join(_format_item(call, item) for item in released)}" if released else ""
    ended = f"Session {one_line(session.id, 80)} ended{claims}."
    data: dict[str, Any] = {"session": to_json(session), "released": released}
    if summary is None:
        return Answer(ended, data)
    try:
        result = call.store.remember(
            summary,
            category="event",
            tags=[SESSION_TAG],
            session=session_id,
            scope=Scope.owned_by(call.client.project),
            trust="agent",
            source={"tool": "mcp", "session": session_id},
        )
    except InvalidInputError as error:
        reason = str(error).removeprefix("content: ")
        refusal = InvalidInputError(f"{ended} Its summary was not stored: {reason}", field="summary")
        refusal.hint = "call session_end again with another summary"
        raise refusal from error
    secrets = f" Secrets were redacted: {', '.join(result.redactions)}." if result.redactions else ""
    data["summary_id"] = result.id
    return Answer(f"{ended} Its summary is [{short_id(result.id)}].{secrets}", data)


@tool(reads=True, answers=shape(sessions="array"))
def get_active_sessions(call: Call) -> Answer:
    """List active sessions and their claims."""
    sessions = call.store.sessions.active(project=call.client.project)
    lines = [format_session(call, session) for session in sessions]
    return Answer("\n".join(lines) or "No session is active.", {"sessions": to_json(sessions)})


@tool(repeats=True, answers=shape(claim="object"))
def claim_item(call: Call, session_id: SessionId, item_ref: ItemRef) -> Answer:
    """Claim an item before working on it, so that no other agent takes it."""
    claimed = call.store.sessions.claim(session_id, item_ref, lease_seconds=_lease(call), project=call.client.project)
    item = _format_item(call, claimed.item)
    if not claimed.granted:
        owner = claimed.owner
        what = f", which works on {one_line(owner.working_on, 120)}" if owner.working_on else ""
        error = ConflictError(
            f"{item} is claimed by session {one_line(owner.id, 80)}{what}: claimed {age(claimed.since, at=call.at)}, "
            f"last seen {age(owner.seen_at, at=call.at)}"
        )
        error.hint = "work on something else, or ask the user; the claims of a session expire with its lease"
        raise error
    previous = claimed.taken_over_from
    taken_over = (
        f" It was claimed by session {one_line(previous.id, 80)}, last seen {age(previous.seen_at, at=call.at)}."
        if previous is not None
        else ""
    )
    return Answer(f"{item} is yours.{taken_over}", {"claim": to_json(claimed)})


@tool(repeats=True)
def release_item(call: Call, session_id: SessionId, item_ref: ItemRef) -> Answer:
    """Release a claim."""
    released = call.store.sessions.release(session_id, item_ref, project=call.client.project)
    item = _format_item(call, call.name_entity(item_ref, call.client.project))
    text = f"Released {item}." if released else "This session did not claim it."
    return Answer(text, {"released": released})


def format_session(call: Call, session: Session) -> str:
    """Describe a session in one line."""
    what = f": {one_line(session.working_on, 120)}" if session.working_on else ""
    claims = _format_claims(call, session)
    seen = age(session.seen_at, at=call.at)
    return f"- {one_line(session.id, 80)}{what} (last seen {seen}{f'; claims {claims}' if claims else ''})"


def _describe_claims(call: Call, session: Session) -> str:
    """Name what a session claims. After its lease ended, another session may have taken over some of it."""
    claims = _format_claims(call, session)
    return f" It claims {claims}." if claims else " It claims nothing."


def _format_claims(call: Call, session: Session) -> str:
    return ", ".join(_format_item(call, claim.item) for claim in session.claims)


def _format_item(call: Call, item: str) -> str:
    return one_line(entities.short(item, project=call.client.project), 120)


def _lease(call: Call) -> int:
    return call.config.session.lease_seconds
