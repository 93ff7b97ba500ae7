"""Tools for memories: read, write, edit, delete, and the health of the store."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import RememberResult, RememberStatus, Scope
from opencode_memory.server.agent_words import describe_waiting, find_origin, store_as
from opencode_memory.server.answers import (
    Answer,
    format_facts,
    format_list,
    format_project,
    indent,
    join_lines,
    memory_data,
)
from opencode_memory.server.call import SessionCall
from opencode_memory.server.plugin.tools.argument_types import AnyScope, Id, ScopeName, parse_category
from opencode_memory.server.toolbox import tool
from opencode_memory.server.tools import curate, recall, status, write
from opencode_memory.server.tools.argument_types import ALONE, Limit
from opencode_memory.server.wording import describe_gap
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, format_graph, short_id

_SAID = {
    RememberStatus.STORED: "Stored as [{}].",
    RememberStatus.MERGED: "Already known; merged into [{}].",
    RememberStatus.UPDATED: "Replaced the text of its topic, [{}].",
    RememberStatus.KEPT: "Its topic is held by a memory of higher trust; [{}] waits for the user's review.",
}


@tool(name="memory-read", reads=True, core=True)
def memory_read(
    call: SessionCall,
    query: Annotated[str | None, Field(max_length=10_000, description="none: the newest")] = None,
    scope: AnyScope = None,
    limit: Limit = 10,
    id: Annotated[str | None, Field(min_length=6, max_length=64, description="that one in full")] = None,
) -> Answer:
    """Find memories of earlier sessions by words and meaning; may be empty. Use before assuming how something works."""
    category = None if scope is None else parse_category(scope).value
    if id is not None:
        if query is not None or category is not None:
            raise InvalidInputError("id: names one memory; leave query and scope out", field="id")
        return recall.get_memory.run(call, [id])
    if query is not None and query.strip():
        return recall.recall.run(call, query, limit=limit, category=category)
    where = call.client.project
    found = call.store.list(project=where, category=category, limit=limit)
    total = call.store.count(project=where, category=category)
    what = category or "memory"
    if not found:
        return Answer(f"There is no {what} yet.", {"memories": []})
    text = join_lines(
        f"The newest of {format_count(total, what)}:"
        if total > len(found)
        else f"{format_count(total, what)}, newest first:",
        format_list(found, at=call.at, project=where),
    )
    return Answer(text, {"total": total, "memories": [memory_data(memory) for memory in found]})


@tool(name="memory-write", core=True)
def memory_write(
    call: SessionCall,
    content: Annotated[str, Field(min_length=1, max_length=100_000, description=ALONE)],
    scope: ScopeName,
) -> Answer:
    """Store a lasting rule, choice, preference, correction, cause or blocker at once; nothing on the task at hand."""
    where, category = call.client.project, parse_category(scope)
    origin = find_origin(call, content, category)
    result = store_as(
        call,
        origin,
        content,
        category=category.value,
        scope=Scope.owned_by(where),
        session=call.session,
        source=call.source,
        metadata={} if call.agent is None else {"agent": call.agent},
    )
    hints = (describe_waiting(call.store.get(result.id)), describe_gap(content, "memory-edit"))
    place = "the memories of every project" if where is None else format_project(where)
    data = {"id": result.id, "status": result.status, "redacted": list(result.redactions)}
    return Answer(join_lines(f"{describe_result(result)} It is in {place}.", *hints, separator=" "), data)


@tool(name="memory-edit", core=True)
def memory_edit(
    call: SessionCall,
    id: Id,
    content: Annotated[str | None, Field(max_length=100_000)] = None,
    scope: AnyScope = None,
) -> Answer:
    """Correct a memory that is wrong or out of date."""
    given: dict[str, Any] = {"content": content, "category": None if scope is None else parse_category(scope).value}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise InvalidInputError("memory-edit: give content or scope", field="content")
    # The MCP tool keeps the parts (what, why, learned) that a text was composed of.
    answer = write.edit_memory.run(call, id, **changes)
    changed = call.get_visible(answer.data["memory"]["id"])
    if changed.id != call.get_visible(id).id:
        return answer
    text = join_lines(
        f"Changed [{short_id(changed.id)}]; `opencode-memory undo {short_id(changed.id)}` takes it back.",
        format_facts(changed, at=call.at, project=call.client.project),
        indent(changed.content),
    )
    return Answer(text, {"memory": memory_data(changed)})


@tool(name="memory-delete", destroys=True, repeats=True, core=True)
def memory_delete(call: SessionCall, id: Id) -> Answer:
    """Delete a memory; the user can undo it for 30 days."""
    memory = call.get_visible(id)
    curate.delete(call, memory)
    short = short_id(memory.id)
    return Answer(
        f"Deleted [{short}] {one_line(memory.content, 80)}."
        f" For 30 days `opencode-memory undo {memory.id}` brings it back.",
        {"id": memory.id},
    )


@tool(name="memory-health", repeats=True)
def memory_health(call: SessionCall, action: Literal["check", "reindex"] = "check") -> Answer:
    """Whether the memory is healthy and what waits; reindex builds its indexes anew."""
    if action == "check":
        return status.memory_status.run(call)
    report = call.store.indexes.reindex()
    return Answer(
        f"Embedded {report.embedded}; indexed {format_count(report.texts, 'text')}{format_graph(report.vectors)}.",
        {"embedded": report.embedded, "texts": report.texts, "vectors": report.vectors},
    )


def describe_result(result: RememberResult) -> str:
    """Describe the result of a write."""
    secrets = f" Secrets were left out: {', '.join(result.redactions)}." if result.redactions else ""
    replaced = f" Replaced: {', '.join(map(short_id, result.replaced))}." if result.replaced else ""
    return _SAID[result.status].format(short_id(result.id)) + replaced + secrets
