"""Tools that search and read memories."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from opencode_memory import entities
from opencode_memory.context.later_words import list_later
from opencode_memory.context.results import NEAR_MISSES, Result, cut
from opencode_memory.context.session_results import present_all, turn_data
from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.models import ALL_PROJECTS, Hit, Memory, RelatedMemory, ScopeKind, SessionHit, Sources, Status
from opencode_memory.server.answers import (
    Answer,
    describe_due,
    format_facts,
    format_list,
    format_project,
    indent,
    join_lines,
    memory_data,
)
from opencode_memory.server.call import Call
from opencode_memory.server.recall_answers import add_turns, format_near_misses, format_results, format_turn
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import (
    AnyCategory,
    CategoryName,
    Labels,
    Limit,
    MemoryId,
    Project,
    SourceName,
    When,
)
from opencode_memory.store.selection import Filter
from opencode_memory.text.clock import age, parse_when
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id
from opencode_memory.text.json_values import to_json

_HIT: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "content": {"type": "string"},
        "category": {"type": "string"},
        "time": {"type": "string"},
    },
    "required": ["id", "content"],
}
_HITS: Final = {
    "type": "object",
    "properties": {"memories": {"type": "array", "items": _HIT}},
    "required": ["memories"],
}
_MOST_OF_AN_ENTITY: Final = 200
_TURN_BYTES: Final = 2_000
_WHOLE_TEXTS: Final = 10
_LIST_BYTES: Final = 12_000
_WHOLE_BYTES: Final = 1_000_000
"""Larger than any memory with its indentation."""
_MOST_LATER: Final = 3
_LATER_BYTES: Final = 200
_ID_LENGTH: Final = 6
_LONGEST_ID: Final = 64
_PAST: Final = (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED)


@tool(reads=True, core=True, answers=_HITS)
def recall(
    call: Call,
    query: Annotated[str, Field(max_length=10_000, description="question or keywords")],
    limit: Limit = 10,
    project: Project = None,
    category: CategoryName | None = None,
    since: When = None,
    until: When = None,
    entity: Annotated[str | None, Field(max_length=512)] = None,
    compact: Annotated[bool, Field(description="one line each")] = False,
    explain: bool = False,
    sources: SourceName = "all",
) -> Answer:
    """Search memories and past sessions by words and meaning; may find none."""
    where = call.resolve_project(project)
    search = partial(
        call.store.search,
        query,
        sources=sources,
        project=where,
        explain=explain,
        category=category,
        since=None if since is None else parse_when(since, field="since", at=call.at),
        until=None if until is None else parse_when(until, field="until", at=call.at, end_of_day=True),
        entity=None if entity is None else call.name_entity(entity, where),
    )
    hits = search(limit=limit)
    call.state.count_recall(found=bool(hits))
    if not hits:
        text = f"No memory in {_format_scope(where)} matches the query."
        if not explain:
            return Answer(text, {"memories": []})
        near = search(limit=NEAR_MISSES, sources=Sources.MEMORIES, nearest=True)
        nearest = [hit for hit in near if isinstance(hit, Hit)]
        return format_near_misses(nearest, text=text, at=call.at, project=where)
    found = present_all(call.store, hits, project=where)
    results = [result for result in found if isinstance(result, Result)]
    heading = f"{format_count(len(results), 'memory')} from {_format_scope(where)}, best first:"
    answer = format_results(results, heading=heading, at=call.at, project=where, compact=compact)
    return add_turns(answer, [result for result in found if isinstance(result, SessionHit)], at=call.at)


@tool(reads=True, answers=shape(turns="array"))
def get_session(
    call: Call,
    message_id: Annotated[str, Field(min_length=1, max_length=200)],
    around: Annotated[int, Field(ge=0, le=20, description="turns before and after")] = 3,
) -> Answer:
    """Show a turn that recall found in a past session, with the turns around it."""
    client = call.client
    found = call.store.turns.find(message_id)
    turns = [turn for turn in found if client.may_cross or turn.project == client.project]
    if not turns:
        raise NotFoundError(f"no session that may be read here has the message {message_id!r}", id=message_id)
    shown = call.store.turns.around(turns[0], before=around, after=around)
    text = join_lines(
        f"Session “{one_line(turns[0].title, 80)}”, word for word:",
        *(format_turn(turn, at=call.at, most_bytes=_TURN_BYTES) for turn in shown),
    )
    return Answer(text, {"turns": to_json([turn_data(turn) for turn in shown])})


@tool(reads=True, core=True, answers=shape(entity="string", memories="array"))
def get_context(
    call: Call,
    entity_ref: Annotated[str, Field(min_length=1, max_length=512, description="!12, #34, &5, URL, @user, file, name")],
    project: Project = None,
) -> Answer:
    """List memories about a merge request, issue, epic, person or file."""
    where = call.resolve_project(project)
    name = call.name_entity(entity_ref, where)
    found, total = _list_about(call, name, entity_ref, where)
    shown = entities.short(name, project=where)
    if not found:
        text = f"There are no memories about {one_line(shown)} in {_format_scope(where)}."
        return Answer(text, {"entity": name, "memories": []})
    text = join_lines(
        f"{format_count(total, 'memory')} about {one_line(shown)} in {_format_scope(where)}, newest first:",
        limit_lines(format_list(found, at=call.at, project=where, compact=len(found) > _WHOLE_TEXTS), total=total),
    )
    return Answer(text, {"entity": name, "total": total, "memories": [memory_data(memory) for memory in found]})


def _list_about(call: Call, name: str, reference: str, project: str | None) -> tuple[list[Memory], int]:
    """Return the newest memories about an entity, and how many there are.

    A global memory has no project that completes a short form such as ``!12``, so it is found by the short form too. An
    earlier version named files by their absolute paths also below the work tree.
    """
    # The names are complete, so the store must not read them as references of the client.
    store, most = call.state.store, _MOST_OF_AN_ENTITY
    bare = entities.canonical(reference, project=None)
    wanted: list[Filter] = [{"entity": name, "project": project}]
    wanted += [{"entity": f"{folder.as_posix()}/{name}", "project": project} for folder in call.client.work_trees]
    if bare != name:
        wanted.append({"entity": bare, "scope": ScopeKind.GLOBAL})
    found: dict[str, Memory] = {}
    total = 0
    for filters in wanted:
        memories = store.list(limit=most, **filters)
        total += store.count(**filters) - sum(memory.id in found for memory in memories)
        found |= {memory.id: memory for memory in memories}
    newest = sorted(found.values(), key=lambda memory: memory.created_at, reverse=True)
    return newest[:most], total


@tool(reads=True, core=True, answers=shape(memories="array"))
def get_memory(
    call: Call,
    memory_id: Annotated[list[str], Field(max_length=50, description="ids")],
) -> Answer:
    """Get memories in full, with history."""
    if not memory_id or not all(_ID_LENGTH <= len(id_) <= _LONGEST_ID for id_ in memory_id):
        message = f"memory_id: expected ids of {_ID_LENGTH} to {_LONGEST_ID} characters"
        raise InvalidInputError(message, field="memory_id")
    opened = [_open(call, call.get_visible(id_)) for id_ in dict.fromkeys(memory_id)]
    data: dict[str, Any] = {"memories": [dict(answer.data) for answer in opened]}
    if len(opened) == 1:
        data |= opened[0].data
    return Answer("\n\n".join(answer.text for answer in opened), data)


def _open(call: Call, memory: Memory) -> Answer:
    history = call.store.history(memory.id)
    later = [statement for statement in list_later(call.store, memory) if call.client.may_see(statement.project)][
        :_MOST_LATER
    ]
    source = memory.source
    place = f"{source.file}:{source.line}" if source.file and source.line else source.file
    origin = ", ".join(filter(None, (place, source.tool, source.session, source.message, source.commit)))
    changes = ", ".join(
        f"{one_line(change.kind)} {age(change.at, at=call.at)} by {one_line(change.actor, 40)}"
        for change in history[-10:]
    )
    text = join_lines(
        format_facts(memory, at=call.at, project=call.client.project),
        indent(memory.content, _WHOLE_BYTES),
        f"id: {memory.id}",
        f"topic: {one_line(memory.topic)}" if memory.topic else None,
        f"tags: {one_line(', '.join(memory.tags))}" if memory.tags else None,
        f"source: {one_line(origin)}" if origin else None,
        f"replaced by: {memory.superseded_by}" if memory.superseded_by else None,
        _describe_expiry(memory, at=call.at),
        f"due: {', '.join(due)}" if (due := describe_due(memory, at=call.at)) else None,
        *(
            f"said later, {age(statement.time, at=call.at)}: [{short_id(statement.id)}]"
            f" {one_line(statement.content, _LATER_BYTES)}"
            for statement in later
        ),
        f"history: {changes}" if changes else None,
    )
    steps = [
        {"at": change.at, "kind": change.kind, "actor": change.actor, "undone": change.undone} for change in history
    ]
    data: dict[str, Any] = {"memory": memory_data(memory, most_bytes=None), "history": steps}
    if later:
        data["later"] = [memory_data(statement) for statement in later]
    return Answer(text, data)


def _describe_expiry(memory: Memory, *, at: datetime) -> str | None:
    if memory.expires_at is None:
        return None
    if memory.expires_at > at:
        return f"expires: {age(memory.expires_at, at=at)}"
    return f"expired: {age(memory.expires_at, at=at)}, so no recall returns it"


@tool(reads=True, answers=shape(linked="array"))
def get_linked_memories(
    call: Call,
    memory_id: MemoryId,
    link_types: Annotated[Labels, Field(description="similar, contradicts, supersedes, related, near")] = None,
    limit: Limit = 10,
) -> Answer:
    """List memories linked to a memory or similar to it."""
    memory = call.get_visible(memory_id)
    found = [
        related
        for related in call.store.related(memory.id, limit=1000)
        if (not link_types or related.kind in link_types) and call.client.may_see(related.memory.project)
    ][:limit]
    if not found:
        return Answer("No memory is linked to it.", {"linked": []})
    lines = [
        f"{_format_relation(related)} {format_facts(related.memory, at=call.at, project=call.client.project)}: "
        f"{one_line(related.memory.content)}"
        for related in found
    ]
    data = [
        memory_data(related.memory)
        | {"link": related.kind, "direction": related.direction, "weight": related.weight, "reason": related.reason}
        for related in found
    ]
    return Answer("\n".join(lines), {"linked": data})


@tool(reads=True, answers=shape(memories="array"))
def search_history(
    call: Call,
    query: Annotated[str, Field(max_length=10_000)],
    category: AnyCategory = None,
    limit: Limit = 10,
    project: Project = None,
) -> Answer:
    """Like recall, but also finds archived and replaced memories."""
    where = call.resolve_project(project)
    statuses = [status.value for status in _PAST]
    hits = call.store.recall(query, limit=limit, project=where, category=category, status=statuses)
    call.state.count_recall(found=bool(hits))
    if not hits:
        text = f"No current or past memory in {_format_scope(where)} matches the query."
        return Answer(text, {"memories": []})
    # A replaced memory is a hit of its own here, so it is not folded.
    results = [Result(hit) for hit in cut(hits)]
    heading = f"{format_count(len(results), 'memory')}:"
    return format_results(results, heading=heading, at=call.at, project=where)


def limit_lines(text: str, *, total: int, most_bytes: int = _LIST_BYTES) -> str:
    """Truncate a list at a line break to a maximum size, and append a note that there are more memories."""
    kept: list[str] = []
    used = 0
    lines = text.splitlines()
    for line in lines:
        used += len(line.encode()) + 1
        if used > most_bytes:
            note = f"… {format_count(total, 'memory')} in total; use recall with this entity to search them"
            return "\n".join([*kept, note])
        kept.append(line)
    return text


def _format_scope(project: str | None) -> str:
    if project == ALL_PROJECTS:
        return "all projects"
    return "the global memories" if project is None else f"{format_project(project)} and the global memories"


def _format_relation(related: RelatedMemory) -> str:
    arrow = {"out": "→", "in": "←"}.get(related.direction, "-")
    return f"{arrow} {one_line(related.kind, 40)}"
