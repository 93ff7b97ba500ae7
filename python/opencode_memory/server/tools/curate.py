"""Tools that put one memory right: out of sight, back again, resolved, pinned."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.models import Category, Memory
from opencode_memory.server.answers import Answer, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Detail, MemoryId, MemoryIds, Reason
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import counted, short_id
from opencode_memory.text.json_values import to_json

RESOLVED = "resolved"


@tool(repeats=True, core=True, answers=shape(memories="array"))
def archive_memory(call: Call, memory_id: MemoryId, reason: Reason = None) -> Answer:
    """Put a memory that no longer holds out of sight; restore_memory brings it back."""
    memory = call.get_visible(memory_id)
    archived = call.store.archive(memory.id, reason=reason)
    return _done("Archived", archived, "restore_memory brings it back")


@tool(repeats=True, answers=shape(memories="array"))
def restore_memory(call: Call, memory_id: MemoryId) -> Answer:
    """Bring an archived or replaced memory back."""
    return _done("Back again", call.store.restore(call.get_visible(memory_id).id))


@tool(destroys=True, repeats=True, answers=shape(id="string"))
def delete_memory(
    call: Call,
    memory_id: MemoryId,
    also_delete_vector: Annotated[bool, Field(description="always so")] = True,
) -> Answer:
    """Delete a memory; undo brings it back for 30 days. Prefer archive_memory."""
    if not also_delete_vector:
        raise InvalidInputError(
            "also_delete_vector: a vector never stays without its memory", field="also_delete_vector"
        )
    memory = call.get_visible(memory_id)
    call.store.delete(memory.id)
    return Answer(
        f"Deleted [{short_id(memory.id)}] {one_line(memory.content, 80)}. For 30 days undo brings it back: {memory.id}",
        {"id": memory.id},
    )


@tool(answers=shape(undone="array"))
def undo(call: Call, memory_ids: MemoryIds) -> Answer:
    """Take the last change of each of these memories back: an edit, an archive, a delete."""
    undone = call.store.undo([_changed_here(call, one) for one in memory_ids])
    lines = [f"[{short_id(change.id)}] {one_line(change.kind)} taken back" for change in undone]
    kinds = [{"id": change.id, "kind": one_line(change.kind)} for change in undone]
    return Answer("\n".join(lines), {"undone": kinds})


@tool(repeats=True)
def pin_memory(call: Call, memory_id: MemoryId, pinned: bool = True) -> Answer:
    """Keep a memory in every boot context (when the user asks), or with pinned=false no longer."""
    memory = call.get_visible(memory_id)
    changed = call.store.pin(memory.id) if pinned else call.store.unpin(memory.id)
    return _done("Pinned" if pinned else "No longer pinned", changed)


@tool(repeats=True, answers=shape(memories="array"))
def resolve_blocker(call: Call, memory_id: MemoryId, resolution: Detail = None) -> Answer:
    """Mark a blocker as resolved, with how."""
    memory = _blocker(call, memory_id)
    said = (resolution or "").strip() or memory.metadata.get("resolution")
    if RESOLVED in memory.tags and said == memory.metadata.get("resolution"):
        return _done("Resolved already", [memory], "unresolve_blocker opens it again")
    metadata = {**memory.metadata, "resolved_at": to_json(call.at)}
    content = memory.content
    if said:
        metadata["resolution"] = said
        content = f"{_unresolved_text(memory)}\nResolved: {said}"
    tags = list(dict.fromkeys([*memory.tags, RESOLVED]))
    changed = call.store.edit(memory.id, content=content, tags=tags, metadata=metadata)
    return _done("Resolved", [changed], "unresolve_blocker opens it again")


@tool(repeats=True, answers=shape(memories="array"))
def unresolve_blocker(call: Call, memory_id: MemoryId) -> Answer:
    """Open a resolved blocker again."""
    memory = _blocker(call, memory_id)
    if RESOLVED not in memory.tags:
        raise ConflictError(f"blocker [{short_id(memory.id)}] is not resolved")
    content = _unresolved_text(memory)
    metadata = {name: value for name, value in memory.metadata.items() if name not in ("resolved_at", "resolution")}
    tags = [tag for tag in memory.tags if tag != RESOLVED]
    return _done("Open again", [call.store.edit(memory.id, content=content, tags=tags, metadata=metadata)])


def _blocker(call: Call, id: str) -> Memory:
    memory = call.get_visible(id)
    if memory.category is not Category.BLOCKER:
        error = ConflictError(f"[{short_id(memory.id)}] is a {memory.category}, not a blocker")
        error.hint = "edit_memory changes its category"
        raise error
    return memory


def _unresolved_text(memory: Memory) -> str:
    resolution = memory.metadata.get("resolution")
    return memory.content.removesuffix(f"\nResolved: {resolution}") if isinstance(resolution, str) else memory.content


def _changed_here(call: Call, id: str) -> str:
    """Return the full id of a memory whose last change may be taken back by this client; it may be deleted."""
    history = call.store.history(id)
    last = history[-1] if history else None
    memory = None if last is None else last.after or last.before
    if last is None or memory is None:
        raise NotFoundError(f'memory "{id}" was not found', id=id)
    call.client.check(memory, id)
    return last.id


def _done(what: str, memories: list[Memory], hint: str = "") -> Answer:
    lines = [f"{what}: [{short_id(memory.id)}] {one_line(memory.content, 80)}" for memory in memories[:10]]
    if len(memories) > len(lines):
        lines.append(f"… {counted(len(memories), 'memory')} in all")
    if hint:
        lines[-1] += f" ({hint})"
    return Answer("\n".join(lines), {"memories": [memory_data(memory, most_bytes=80) for memory in memories]})
