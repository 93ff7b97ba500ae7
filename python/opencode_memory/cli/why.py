"""``opencode-memory why``: shows which memories were added to the messages of an OpenCode session, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.cli.output import Output, bold, dim, shorten
from opencode_memory.context.lateness import DESCRIPTIONS, HINTS, Cause, cause_of
from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.models import Memory
from opencode_memory.store.ledger import Decision, Shown, State
from opencode_memory.text import clock
from opencode_memory.text.formatting import format_count, short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_WIDTH: Final = 76


@command("why", is_paged=True)
@click.argument("session", required=False)
@click.option("--text", "with_text", is_flag=True, help="Show the exact text that the model received.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, help="Maximum number of sessions to list.  [default: 20]"
)
def why(run: Invocation, *, session: str | None, with_text: bool, limit: int) -> int:
    """Show which memories were added to the messages of an OpenCode SESSION, and why.

    The beginning or the end of a session's id is enough. Without SESSION, list the sessions.
    """
    with run.open_store() as store:
        if session is None:
            return _print_sessions(run, store, limit)
        decisions = store.ledger.decisions(_find_session(store, session))
        known = {id_: _find_memory(store, id_) for decision in decisions for id_ in _memory_ids(decision)}
    if run.out.as_json:
        fields = [_to_fields(decision, known, with_text=with_text) for decision in decisions]
        run.out.json({"session": decisions[0].session, "project": decisions[0].project, "decisions": fields})
        return DONE
    first = decisions[0]
    run.out.line(bold(first.session), dim(f"  {first.project or 'no project'}"))
    now = clock.now()
    for outcome, together in groupby(decisions, key=_format_outcome):
        alike = list(together)
        if any(map(_memory_ids, alike)) or len(alike) == 1:
            for decision in alike:
                _print_decision(run.out, decision, known, at=now, with_text=with_text)
        else:
            run.out.line("")
            last = clock.age(alike[-1].at, at=now)
            run.out.line(format_count(len(alike), "message"), dim(f", the last {last}"), f"  {outcome}")
    for cause in dict.fromkeys(filter(None, map(cause_of, decisions))):
        run.out.note(f"{DESCRIPTIONS[cause]}: {HINTS[cause]}")
    return DONE


def _find_session(store: MemoryStore, session: str) -> str:
    found = store.ledger.find(session)
    if not found:
        error = NotFoundError(f"there are no decisions about a session {session!r}", id=session)
        error.hint = "`opencode-memory why` lists the sessions"
        raise error
    if len(found) > 1:
        conflict = ConflictError(f"{session!r} matches {format_count(len(found), 'session')}")
        conflict.hint = "give more of the id, for example of " + ", ".join(found[:3])
        raise conflict
    return found[0]


def _print_sessions(run: Invocation, store: MemoryStore, limit: int) -> int:
    sessions = store.ledger.sessions(limit=limit)
    if run.out.as_json:
        run.out.json({"sessions": sessions})
        return DONE
    if not sessions:
        run.out.note("No memories were added to messages yet.")
        return DONE
    now = clock.now()
    rows = [
        (
            session.session,
            clock.age(session.last_at, at=now),
            format_count(session.messages, "message"),
            format_count(session.shown, "memory"),
            session.project or "",
        )
        for session in sessions
    ]
    run.out.table(rows)
    return DONE


def _print_decision(
    out: Output, decision: Decision, known: dict[str, Memory | None], *, at: datetime, with_text: bool
) -> None:
    out.line("")
    out.line(decision.message, dim(f"  {clock.age(decision.at, at=at)}"), f"  {_format_outcome(decision)}")
    if with_text and decision.text:
        for line in decision.text.splitlines():
            out.line(dim(f"  {line}"))
        return
    for shown in decision.shown:
        for parts in _format_memory(shown, known[shown.memory]):
            out.line(*parts)
    if not decision.shown:
        for id_ in _memory_ids(decision):
            out.line(f"  {_format_title(id_, known[id_])}")
    if quoted := decision.about.get("quoted"):
        out.line(f"  {quoted['message']}", dim(f"  quoted from session {quoted['session']}"))


def _memory_ids(decision: Decision) -> list[str]:
    """Return the ids of a decision's memories; those of a compaction are in ``about``."""
    listed = decision.about.get("memories", [])
    return [shown.memory for shown in decision.shown] or [str(id_) for id_ in listed]


def _format_title(id_: str, memory: Memory | None) -> str:
    return f"{short_id(id_)}  {'erased' if memory is None else shorten(memory.content, _WIDTH - 16)}"


def _format_memory(shown: Shown, memory: Memory | None) -> Iterator[Sequence[Any]]:
    yield (f"  {_format_title(shown.memory, memory)}",)
    outcome = "" if shown.outcome is None else f"; {shown.outcome.value} since"
    yield (dim(f"            {shown.why}{outcome}"),)


def _format_outcome(decision: Decision) -> str:
    reason = str(decision.about.get("reason", ""))
    match decision.state:
        case State.SHOWN | State.OFFERED:
            where = "the compaction" if decision.about.get("kind") == "compaction" else "the message"
            offered = "" if decision.state is State.SHOWN else ", receipt not confirmed"
            return f"{decision.tokens:,} tokens added to {where}{offered}"
        case State.NOTHING:
            return f"nothing added: {reason}"
        case State.LATE:
            return f"nothing added: {DESCRIPTIONS[cause_of(decision) or Cause.SLOW]}"
        case State.ERASED:
            return "erased, because it contained a purged memory"


def _find_memory(store: MemoryStore, id_: str) -> Memory | None:
    try:
        return store.get(id_)
    except NotFoundError:
        return None


def _to_fields(decision: Decision, known: dict[str, Memory | None], *, with_text: bool) -> dict[str, Any]:
    shown_by_id = {shown.memory: shown for shown in decision.shown}
    memories = []
    for id_ in _memory_ids(decision):
        memory, shown = known[id_], shown_by_id.get(id_)
        memories.append(
            {
                "id": id_,
                "content": None if memory is None else memory.content,
                "category": None if memory is None else memory.category,
                "score": None if shown is None else shown.score,
                "why": None if shown is None else shown.why,
                "outcome": None if shown is None else shown.outcome,
            }
        )
    fields = {
        "message": decision.message,
        "at": decision.at,
        "state": decision.state,
        "tokens": decision.tokens,
        "about": decision.about,
        "memories": memories,
    }
    return fields | ({"text": decision.text} if with_text else {})
