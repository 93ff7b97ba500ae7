"""Tools for reminders and reviews of memories, which project briefs show when they are due."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from opencode_memory.errors import ConflictError
from opencode_memory.models import Memory
from opencode_memory.server.answers import Answer, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import tool
from opencode_memory.server.tools.argument_types import MemoryId
from opencode_memory.text.clock import age, parse_due
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id

_EXCERPT_BYTES: Final = 80
_DONE: Final = "done"


@tool()
def set_reminder(
    call: Call,
    memory_id: MemoryId,
    when: Annotated[str | None, Field(max_length=64, description="3d, 2026-03-31, done")] = None,
    every_days: Annotated[int | None, Field(ge=1, le=3650)] = None,
    review: bool = False,
) -> Answer:
    """Show a memory when due. review: ask if it still holds. when=done ends a due one; without when it is removed."""
    memory = call.get_visible(memory_id)
    if when is None:
        return _answer(call, call.store.reminders.clear(memory.id, is_review=review))
    if when.strip().lower() != _DONE:
        due = parse_due(when, field="when", at=call.at)
        return _answer(call, call.store.reminders.set(memory.id, due, every_days=every_days, is_review=review))
    if review:
        raise ConflictError("only the user ends a review: `opencode-memory remind done ID --review`")
    return _answer(call, call.store.reminders.advance(memory.id))


def _answer(call: Call, memory: Memory) -> Answer:
    due = [
        f"{kind} {age(at, at=call.at)}{'' if every is None else f', then every {every} d'}"
        for kind, at, every in (
            ("reminder", memory.remind_at, memory.remind_every),
            ("review", memory.review_after, memory.review_every),
        )
        if at is not None
    ]
    excerpt = f"[{short_id(memory.id)}] {one_line(memory.content, _EXCERPT_BYTES)}"
    return Answer(f"{excerpt}: {', '.join(due) or 'no reminder'}", {"memory": memory_data(memory)})
