"""Prints memories, in the same format for all commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.output import Output, bold, dim
from opencode_memory.context.folding import format_before, format_later
from opencode_memory.context.provenance import describe_source
from opencode_memory.context.results import NOTHING_NEAR, Result, describe_relevance
from opencode_memory.models import ALL_PROJECTS, Hit, Memory, ScopeKind, SessionHit, Status, Turn
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id
from opencode_memory.text.repetition import find_due

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_INDENT: Final = " " * 4
_HIT_LINES: Final = 4
_TURN_LINES: Final = 60
_TITLE: Final = 60
_BEFORE_LINES: Final = 2
_EVIDENCE: Final = 1_000


def find_foreign_hint(store: MemoryStore, *, all_projects: bool) -> str | None:
    """Return a hint that only other projects have memories; None if this one has some, or if all were searched."""
    if all_projects or (store.project is not None and store.count(scope=ScopeKind.PROJECT, status=tuple(Status))):
        return None
    foreign = store.count(project=ALL_PROJECTS, scope=ScopeKind.PROJECT)
    if not foreign:
        return None
    return f"This project has no memories. Others have {format_count(foreign, 'memory')}: --all-projects"


def print_hits(out: Output, results: Sequence[Result | SessionHit], *, at: datetime, in_detail: bool = True) -> None:
    """Print the results of a recall, best first, with their explanations if any.

    Args:
        out: The output.
        results: The results.
        at: The current time.
        in_detail: Whether to print each part of an explanation on its own line.
    """
    indent = _INDENT
    for result in results:
        hit: Hit | SessionHit
        if isinstance(result, SessionHit):
            hit = result
            print_turn(out, hit.turn, at=at, rank=hit.rank)
        else:
            hit = result.hit
            _print_memory(out, result, at=at)
        signals = hit.explanation.signals if hit.explanation is not None else ()
        if signals and not in_detail:
            parts = (f"{signal.name} {signal.contribution:+.2f}" for signal in signals)
            out.line(dim(f"{indent}because of {', '.join(parts)}"))
        if in_detail and hit.explanation is not None:
            for signal in signals:
                out.line(dim(indent + signal.detail))
            out.line(dim(indent + describe_relevance(hit)))


def _print_memory(out: Output, result: Result, *, at: datetime) -> None:
    memory = result.memory
    out.line(bold(f"{result.hit.rank:>2}  "), dim(format_facts(memory, at=at)))
    out.excerpt(memory.content, indent=_INDENT, lines=_HIT_LINES)
    source = describe_source(memory)
    if source:
        out.line(dim(_INDENT + source))
    changed = format_before(memory, result.before, at=at)
    for remark in filter(None, (changed, format_later(result.later, at=at))):
        out.excerpt(remark, indent=_INDENT, lines=_BEFORE_LINES)


def print_turn(out: Output, turn: Turn, *, at: datetime, rank: int | None = None) -> None:
    """Print a turn of a session: as a hit with its rank, or in full without one."""
    who = "you" if turn.speaker == "user" else "the agent"
    facts = ("session", turn.project or "global", age(turn.time, at=at), turn.message)
    out.line(bold("    " if rank is None else f"{rank:>2}  "), dim(" · ".join(facts)))
    out.excerpt(turn.text, indent=_INDENT, lines=_TURN_LINES if rank is None else _HIT_LINES)
    out.line(dim(f"{_INDENT}{who} on {turn.time.astimezone():%Y-%m-%d} in “{one_line(turn.title, _TITLE)}”"))


def print_near_misses(out: Output, hits: Sequence[Hit], *, at: datetime) -> None:
    """Print the nearest memories of an empty answer, each with its relevance and the floor that it missed."""
    out.line("No memory is relevant enough. The nearest ones:" if hits else NOTHING_NEAR)
    for hit in hits:
        out.line("    ", dim(format_facts(hit.memory, at=at)))
        out.excerpt(hit.memory.content, indent=_INDENT, lines=_BEFORE_LINES)
        out.line(dim(_INDENT + describe_relevance(hit)))


def print_list(out: Output, memories: Sequence[Memory], *, at: datetime, with_project: bool) -> None:
    """Print one line for each memory."""
    rows = [
        (
            short_id(memory.id),
            age(memory.created_at, at=at),
            memory.category if memory.status is Status.ACTIVE else f"{memory.category} ({memory.status})",
            memory.trust.writer,
            *((memory.project or "global",) if with_project else ()),
            ("* " if memory.pinned else "") + memory.content,
        )
        for memory in memories
    ]
    names = ("id", "created", "category", "by", *(("project",) if with_project else ()), "text")
    out.table(rows, right=(1,), header=names)


def print_memory(out: Output, memory: Memory, *, at: datetime) -> None:
    """Print all fields of a memory."""
    source = memory.source
    place = f"{source.file}:{source.line}" if source.file and source.line else source.file
    used = _format_moment(memory.used_at, at)
    about = {
        "id": memory.id,
        "category": memory.category,
        "project": memory.project or "global",
        "topic": memory.topic,
        "status": f"{memory.status}{', pinned' if memory.pinned else ''}",
        "trust": memory.trust,
        "created": _format_moment(memory.created_at, at),
        "changed": _format_moment(memory.updated_at, at) if memory.updated_at != memory.created_at else None,
        "time": _format_moment(memory.time, at) if memory.time != memory.created_at else None,
        "expires": _format_moment(memory.expires_at, at),
        "reminder": format_due(memory.remind_at, memory.remind_every, at),
        "review": format_due(memory.review_after, memory.review_every, at),
        "used": f"{format_count(memory.uses, 'time')}, {used}" if used else None,
        "source": ", ".join(filter(None, (place, source.tool, source.session, source.message, source.commit))),
        "rule": _read_learned(memory, "rule"),
        "evidence": _read_learned(memory, "evidence"),
        "session": memory.session,
        "speaker": memory.speaker,
        "tags": ", ".join(memory.tags),
        "entities": ", ".join(memory.entities),
        "replaced by": memory.superseded_by,
    }
    for name, value in about.items():
        if value:
            out.line(dim(f"{name:<12}"), value)
    out.line()
    out.text(memory.content)


def _read_learned(memory: Memory, name: str) -> str | None:
    """Return what a learned memory says about its origin; others may have any metadata."""
    said = memory.metadata.get(name)
    return one_line(said, _EVIDENCE) if isinstance(said, str) else None


def format_due(due: datetime | None, every: int | None, at: datetime) -> str | None:
    """Format when something is due, how often again, and since when it waits."""
    if due is None:
        return None
    latest = find_due(due, every, at=at)
    repeats = "" if every is None else f"every {every} d"
    return ", ".join(filter(None, (_format_moment(latest.at, at), repeats, latest.waiting)))


def format_facts(memory: Memory, *, at: datetime) -> str:
    """Format the most important fields of a memory as one line."""
    parts = [memory.category, memory.project or "global", age(memory.time, at=at), short_id(memory.id)]
    if memory.status is not Status.ACTIVE:
        parts.insert(0, memory.status)
    return " · ".join(["pinned", *parts] if memory.pinned else parts)


def _format_moment(moment: datetime | None, at: datetime) -> str | None:
    return None if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M} ({age(moment, at=at)})"
