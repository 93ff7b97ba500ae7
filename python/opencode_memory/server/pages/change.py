"""Forms that change memories: one, or several after a preview."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.learning.rejections import redo_operation, undo_operation
from opencode_memory.learning.review import accept, check_version, reject
from opencode_memory.models import Category, Memory
from opencode_memory.server.changes import CHANGES
from opencode_memory.server.pages import ROOT
from opencode_memory.server.pages.asked import Asked, Page, Redirect, read_number, unknown
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import format_count

MERGE: Final = "merge"
MOST_AT_ONCE: Final = 500
MOST_MERGED: Final = 20


def change_memory(asked: Asked) -> Redirect:
    """Pin, unpin, archive, restore, delete or edit a memory."""
    memory, action = asked.memory(), asked.path["action"]
    here = f"{ROOT}/memories/{memory.id}"
    check_version(memory, asked.field("mark"))
    if action == "edit":
        with asked.changing("Edited.") as store:
            _edit(asked, store, memory)
    elif action in CHANGES:
        said, change = CHANGES[action]
        with asked.changing(f"{said}.") as store:
            change(store, [memory.id])
    else:
        raise unknown("action", action)
    return asked.back(here)


def decide(asked: Asked) -> Redirect:
    """Accept, edit or reject a memory that waits for review."""
    memory, action = asked.memory(), asked.path["action"]
    check_version(memory, asked.field("mark"))
    if action == "accept":
        with asked.changing("Accepted.") as store:
            accept(store, memory)
    elif action == "edit":
        with asked.changing("Accepted in your words.") as store:
            accept(store, memory, asked.changed_field("content", memory.content))
    elif action == "reject":
        with asked.changing("Rejected. It is not learned again.") as store:
            reject(store, memory)
    else:
        raise unknown("action", action)
    return asked.back(f"{ROOT}/review")


def preview(asked: Asked) -> Page:
    """Show what a change of several memories would do."""
    action, ids = _read_choice(asked)
    memories = [asked.store.get(id_) for id_ in ids]
    values = {
        "action": action,
        "memories": memories,
        "text": "\n".join(memory.content for memory in memories) if action == MERGE else None,
        "mark": _mark(memories),
        "back": asked.field("back"),
    }
    return Page(template="bulk.html", values=values)


def apply(asked: Asked) -> Redirect:
    """Change several memories as the preview showed, unless one of them was changed since.

    Raises:
        ConflictError: One was changed or is gone.
    """
    action, ids = _read_choice(asked)
    if _mark([asked.store.get(id_) for id_ in ids]) != asked.field("mark"):
        raise ConflictError("a memory was changed since the preview, so nothing was done; look again")
    if action == MERGE:
        with asked.changing(f"Merged: {format_count(len(ids), 'memory')}.") as store:
            merged = store.merge(ids, asked.field("content").strip())
        return Redirect(path=f"{ROOT}/memories/{merged.id}")
    said, change = CHANGES[action]
    with asked.changing(f"{said}: {format_count(len(ids), 'memory')}.") as store:
        change(store, ids)
    return asked.back(f"{ROOT}/")


def turn(asked: Asked) -> Redirect:
    """Undo or redo an operation."""
    action, store = asked.path["action"], asked.store
    number = read_number(asked.path["number"], field="operation")
    found = store.operations.list(before=number + 1, limit=1)
    if not found or found[0].operation != number:
        raise unknown("operation", str(number))
    if action == "undo":
        undone = undo_operation(store, found[0].operation)
        asked.say(f"Undone: {format_count(len(undone), 'change')}.")
    elif action == "redo":
        redone = redo_operation(store, found[0])
        asked.say(f"Done again: {format_count(len(redone), 'change')}.")
    else:
        raise unknown("action", action)
    return asked.back(f"{ROOT}/log")


def _read_choice(asked: Asked) -> tuple[str, list[str]]:
    action, ids = asked.field("action"), list(dict.fromkeys(asked.form.get("id", ())))
    if action not in {*CHANGES, MERGE}:
        raise unknown("action", action)
    least, most = (2, MOST_MERGED) if action == MERGE else (1, MOST_AT_ONCE)
    if not least <= len(ids) <= most:
        raise InvalidInputError(f"id: choose {least} to {most} memories", field="id")
    return action, ids


def _mark(memories: Sequence[Memory]) -> str:
    """Return a hash of the states of memories."""
    states = "\n".join(f"{memory.id} {memory.key} {memory.status} {to_ms(memory.updated_at)}" for memory in memories)
    return hashlib.sha256(states.encode()).hexdigest()


def _edit(asked: Asked, store: MemoryStore, memory: Memory) -> None:
    category = asked.field("category")
    if category not in set(Category):
        raise InvalidInputError(f"category: {category[:40]!r} is unknown", field="category")
    changes: dict[str, Any] = {}
    if (content := asked.changed_field("content", memory.content)) is not None:
        changes["content"] = content
    if category != memory.category:
        changes["category"] = category
    if (tags := asked.changed_field("tags", ", ".join(memory.tags))) is not None:
        changes["tags"] = [tag.strip() for tag in tags.split(",") if tag.strip()]
    if changes:
        store.edit(memory.id, **changes)
