"""Tools that change the state of a memory: archive, restore, delete, undo, pin, resolve."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.maintenance import blockers
from opencode_memory.models import Memory, Trust
from opencode_memory.server.answers import Answer, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Detail, MemoryId, MemoryIds, Reason
from opencode_memory.store.operations import describe_rest, rest_data
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id


@tool(repeats=True, core=True, answers=shape(memories="array"))
def archive_memory(call: Call, memory_id: MemoryId, reason: Reason = None) -> Answer:
    """Hide an outdated memory."""
    memory = call.get_visible(memory_id)
    archived = call.store.archive(memory.id, reason=reason)
    return _format_done("Archived", archived, "restore_memory brings it back")


@tool(repeats=True, answers=shape(memories="array"))
def restore_memory(call: Call, memory_id: MemoryId) -> Answer:
    """Restore an archived or replaced memory."""
    from opencode_memory.learning.rejections import withdraw_rejection  # noqa: PLC0415  imports much of learning

    restored = call.store.restore(call.get_visible(memory_id).id)
    withdraw_rejection(call.store, *restored)
    return _format_done("Restored", restored)


@tool(destroys=True, repeats=True, answers=shape(id="string"))
def delete_memory(
    call: Call,
    memory_id: MemoryId,
    also_delete_vector: Annotated[bool, Field(description="must be true")] = True,
) -> Answer:
    """Delete a memory. undo restores it for 30 days. Prefer archive_memory."""
    if not also_delete_vector:
        raise InvalidInputError(
            "also_delete_vector: must be true; a vector cannot be kept without its memory", field="also_delete_vector"
        )
    memory = call.get_visible(memory_id)
    delete(call, memory)
    return Answer(
        f"Deleted [{short_id(memory.id)}] {one_line(memory.content, 80)}. For 30 days, undo restores it: {memory.id}",
        {"id": memory.id},
    )


@tool(answers=shape(undone="array", rest="array"))
def undo(call: Call, memory_ids: MemoryIds) -> Answer:
    """Undo the last change of each memory."""
    from opencode_memory.learning import rejections  # noqa: PLC0415  imports much of learning

    undone = rejections.undo(call.store, [_get_undoable_id(call, memory_id) for memory_id in memory_ids])
    rest = call.store.operations.count_rest(undone)
    lines = [f"[{short_id(change.id)}] {one_line(change.kind)} undone" for change in undone]
    kinds = [{"id": change.id, "kind": one_line(change.kind)} for change in undone]
    return Answer("\n".join([*lines, *describe_rest(rest)]), {"undone": kinds, "rest": rest_data(rest)})


@tool(repeats=True)
def pin_memory(call: Call, memory_id: MemoryId, pinned: bool = True) -> Answer:
    """Show a memory in every boot context, if the user asks for it. pinned=false unpins it."""
    memory = call.get_visible(memory_id)
    changed = call.store.pin(memory.id) if pinned else call.store.unpin(memory.id)
    return _format_done("Pinned" if pinned else "Unpinned", changed)


@tool(repeats=True, answers=shape(memories="array"))
def resolve_blocker(call: Call, memory_id: MemoryId, resolution: Detail = None) -> Answer:
    """Mark a blocker as resolved."""
    memory = _get_blocker(call, memory_id)
    changed = blockers.resolve(call.store, memory, resolution, at=call.at)
    hint = "unresolve_blocker reopens it"
    return _format_done("Resolved", [changed], hint) if changed else _format_done("Already resolved", [memory], hint)


@tool(repeats=True, answers=shape(memories="array"))
def unresolve_blocker(call: Call, memory_id: MemoryId) -> Answer:
    """Reopen a resolved blocker."""
    return _format_done("Reopened", [blockers.reopen(call.store, _get_blocker(call, memory_id))])


def delete(call: Call, memory: Memory) -> None:
    """Delete a memory, so that the same statement is not learned again."""
    from opencode_memory.learning.rejections import rejecting  # noqa: PLC0415  imports much of learning

    with rejecting(call.store, [memory.id]):
        call.store.delete(memory.id)


def _get_blocker(call: Call, id: str) -> Memory:
    memory = call.get_visible(id)
    blockers.check(memory, hint="edit_memory can change its category")
    return memory


def _get_undoable_id(call: Call, id: str) -> str:
    """Return the full id of a memory, which may be deleted, whose last change this client may undo."""
    try:
        history = call.store.history(id)
    except NotFoundError as error:
        call.client.explain(error)
        raise
    last = history[-1] if history else None
    memory = None if last is None else last.after or last.before
    if last is None or memory is None:
        missing = NotFoundError(f'memory "{id}" was not found', id=id)
        call.client.explain(missing)
        raise missing
    call.client.check(memory, id)
    left = [change for change in history if not change.undone and change.kind not in {"undo", "redo"}]
    if left and left[-1].kind == "create" and memory.trust is Trust.USER:
        # An agent that undoes once more than it has changed must not remove what the user has written.
        raise ConflictError(f"memory {short_id(last.id)} has no change to undo: the user stored it as it is")
    if left and left[-1].actor is Trust.USER:
        # Otherwise an agent could bring back what the user has deleted or rejected.
        kind = one_line(left[-1].kind.partition(":")[0])
        hint = f"only the user can undo that (opencode-memory undo {short_id(last.id)})"
        raise ConflictError(f"the user made the last change of memory {short_id(last.id)} ({kind}); {hint}")
    return last.id


def _format_done(action: str, memories: list[Memory], hint: str = "") -> Answer:
    lines = [f"{action}: [{short_id(memory.id)}] {one_line(memory.content, 80)}" for memory in memories[:10]]
    if len(memories) > len(lines):
        lines.append(f"… {format_count(len(memories), 'memory')} in total")
    if hint:
        lines[-1] += f" ({hint})"
    return Answer("\n".join(lines), {"memories": [memory_data(memory, most_bytes=80) for memory in memories]})
