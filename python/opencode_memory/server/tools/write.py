"""Tools that write memories. Their words count as an agent's, unless the user typed them in a live session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from opencode_memory._core import redact
from opencode_memory.context.recent_sessions import SESSION_TAG
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.learning.review import REPLACES
from opencode_memory.models import ALL_PROJECTS, Category, Memory, RememberResult, RememberStatus, Scope, Status, Trust
from opencode_memory.server.agent_words import INSTRUCTIONS, describe_waiting, find_origin, store_as
from opencode_memory.server.answers import Answer, format_facts, indent, join_lines, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import (
    ALONE,
    AnyCategory,
    CategoryName,
    Content,
    Detail,
    Entities,
    Labels,
    MemoryId,
    Name,
    Project,
    ScopeName,
)
from opencode_memory.server.wording import describe_gap
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id

_PARTS: Final = {"what": "What", "why": "Why", "learned": "Learned"}
_AGENT: Final = Trust.AGENT.value


@tool(core=True, answers=shape(id="string", status="string"))
def remember(
    call: Call,
    content: Annotated[str, Field(min_length=1, max_length=100_000, description=ALONE)],
    category: CategoryName,
    what: Detail = None,
    why: Detail = None,
    learned: Detail = None,
    entities: Entities = None,
    project: Project = None,
    scope: Annotated[ScopeName | None, Field(description="global: about the user, in every project")] = None,
    topic: Annotated[Name, Field(description="reusing a topic replaces its text")] = None,
    tags: Labels = None,
    session: Annotated[Name, Field(description="session id")] = None,
) -> Answer:
    """Store a lasting rule, choice, preference, correction, cause or blocker at once; nothing on the task at hand."""
    where = _resolve_single_project(call, project)
    parts = _collect_parts(what, why, learned)
    origin = find_origin(call, content, Category(category))
    result = store_as(
        call,
        origin,
        # The parts are an agent's words. They must not become a part of what the user said.
        content if origin.is_users else _compose(content, parts),
        category=category,
        scope=scope or Scope.owned_by(where),
        project=where if scope == "project" else None,
        topic=topic,
        tags=tags or (),
        entities=entities or (),
        session=session,
        source={"tool": "mcp", "session": session},
        metadata=parts,
    )
    stored = call.store.get(result.id)
    hints = (describe_waiting(stored), describe_gap(content, "edit_memory"))
    text = join_lines(_format_result(result), *hints, separator=" ")
    return Answer(text, {"id": result.id, "status": result.status, "redacted": list(result.redactions)})


@tool(core=True, answers=shape(memory="object"))
def edit_memory(
    call: Call,
    memory_id: MemoryId,
    content: Annotated[str | None, Field(min_length=1, max_length=100_000)] = None,
    what: Detail = None,
    why: Detail = None,
    learned: Detail = None,
    category: AnyCategory = None,
    topic: Name = None,
    tags: Labels = None,
) -> Answer:
    """Correct a memory."""
    memory = call.get_visible(memory_id)
    parts = _collect_parts(what, why, learned)
    changes: dict[str, Any] = {}
    if content is not None or parts:
        known = {name: memory.metadata[name] for name in _PARTS if isinstance(memory.metadata.get(name), str)}
        base = _strip_parts(memory.content, known) if content is None else content
        changes["content"] = _compose(base, known | parts)
        changes["metadata"] = {**memory.metadata, **parts}
    others = {"category": category, "topic": topic, "tags": tags}
    changes |= {name: value for name, value in others.items() if value is not None}
    if not changes:
        raise InvalidInputError(
            "edit_memory: give content, what, why, learned, category, topic or tags", field="content"
        )
    changed = apply_edit(call, memory, changes)
    secrets = _describe_secrets(redact(changes.get("content", ""))[1])
    if changed.id != memory.id:
        text = f"[{short_id(memory.id)}] is unchanged. The new text is [{short_id(changed.id)}].{secrets}"
        return Answer(join_lines(text, describe_waiting(changed), separator=" "), {"memory": memory_data(changed)})
    # An edit that changes nothing is not in the history, so an undo would take back an earlier change.
    is_changed = any(getattr(changed, name) != getattr(memory, name) for name in changes)
    done = "Changed [{}]. undo restores the previous text." if is_changed else "[{}] is unchanged: it has these values."
    text = join_lines(done.format(short_id(changed.id)) + secrets, _show(call, changed))
    return Answer(text, {"memory": memory_data(changed)})


def apply_edit(call: Call, memory: Memory, changes: Mapping[str, Any]) -> Memory:
    """Change a memory for an agent, and return it.

    An active memory does not become an instruction that the user did not type. Then the memory stays as it is, and the
    new text is stored as a candidate, which is returned.

    Raises:
        ConflictError: Only the category was to change, into that of an instruction.
    """
    content, category = changes.get("content", memory.content), changes.get("category") or memory.category
    is_changed = content != memory.content or category != memory.category
    if memory.status is not Status.ACTIVE or category not in INSTRUCTIONS or not is_changed:
        return call.store.edit(memory.id, **changes)
    origin = find_origin(call, content, Category(category))
    if origin.is_users:
        metadata = {**changes.get("metadata", memory.metadata), **origin.metadata}
        return call.store.edit(memory.id, **{**changes, "metadata": metadata, "trust": origin.trust.value})
    if content == memory.content:
        error = ConflictError(
            f"[{short_id(memory.id)}] keeps its category {memory.category}: only the user makes it a {category}"
        )
        error.hint = "tell the user, who can store the sentence with /remember"
        raise error
    proposed = store_as(
        call,
        origin,
        content,
        category=category,
        scope=Scope.owned_by(memory.project),
        tags=changes.get("tags", memory.tags),
        source=memory.source,
        metadata={REPLACES: memory.id},
    )
    return call.store.get(proposed.id)


@tool(answers=shape(memories="array"))
def log_session(
    call: Call,
    summary: Content,
    learnings: Annotated[list[Content] | None, Field(max_length=100, description="each is stored as a fact")] = None,
    entities: Entities = None,
    session_id: Name = None,
    project: Project = None,
) -> Answer:
    """Store a session's summary and learnings."""
    where = _resolve_single_project(call, project)
    shared: dict[str, Any] = {
        "scope": Scope.owned_by(where),
        "entities": entities or (),
        "session": session_id,
        "trust": _AGENT,
        "source": {"tool": "mcp", "session": session_id},
    }
    memories = [{"content": summary, "category": "event", "tags": [SESSION_TAG], **shared}]
    memories += [{"content": learning, "category": "fact", **shared} for learning in learnings or ()]
    first, *others = call.store.remember_many(memories)
    lines = [f"Session: {_format_result(first)}", *(f"Learned: {_format_result(result)}" for result in others)]
    results = [{"id": result.id, "status": result.status} for result in (first, *others)]
    return Answer("\n".join(lines), {"memories": results})


@tool(repeats=True)
def link_memories(
    call: Call,
    source_id: MemoryId,
    target_id: MemoryId,
    kind: Annotated[str, Field(min_length=1, max_length=64, description="e.g. causes, resolves")] = "related",
    reason: Annotated[str, Field(max_length=500)] = "",
) -> Answer:
    """Link two memories."""
    source, target = call.get_visible(source_id), call.get_visible(target_id)
    if source.id == target.id:
        raise ConflictError("a memory cannot be linked to itself")
    call.store.link(source.id, target.id, kind, reason)
    return Answer(
        f"Linked [{short_id(source.id)}] → {one_line(kind)} → [{short_id(target.id)}].",
        {"source": source.id, "target": target.id, "kind": kind},
    )


def _resolve_single_project(call: Call, requested: str | None) -> str | None:
    where = call.resolve_project(requested)
    if where == ALL_PROJECTS:
        raise InvalidInputError("project: name one project to write to", field="project")
    return where


def _format_result(result: RememberResult) -> str:
    text = {
        RememberStatus.STORED: "Stored as [{}].",
        RememberStatus.MERGED: "Already known. Merged into [{}].",
        RememberStatus.UPDATED: "Replaced the text of its topic, [{}]. undo restores the previous text.",
        RememberStatus.KEPT: "A memory of higher trust has this topic. Stored as candidate [{}] for review.",
    }[result.status].format(short_id(result.id))
    secrets = _describe_secrets(result.redactions)
    replaced = f" Replaced: {', '.join(map(short_id, result.replaced))}." if result.replaced else ""
    return text + replaced + secrets


def _describe_secrets(kinds: Sequence[str]) -> str:
    return f" Secrets were redacted: {', '.join(kinds)}." if kinds else ""


def _collect_parts(what: str | None, why: str | None, learned: str | None) -> dict[str, str]:
    given = {"what": what, "why": why, "learned": learned}
    return {name: text.strip() for name, text in given.items() if text is not None and text.strip()}


def _compose(content: str, parts: Mapping[str, str]) -> str:
    """Append the parts to the statement, so that both searches find them."""
    return join_lines(content.rstrip(), *(_format_part(name, parts[name]) for name in _PARTS if name in parts))


def _strip_parts(content: str, parts: Mapping[str, str]) -> str:
    for name in reversed(_PARTS):
        if name in parts:
            content = content.removesuffix("\n" + _format_part(name, parts[name]))
    return content


def _format_part(name: str, text: str) -> str:
    return f"{_PARTS[name]}: {text}"


def _show(call: Call, memory: Memory) -> str:
    return join_lines(format_facts(memory, at=call.at, project=call.client.project), indent(memory.content))
