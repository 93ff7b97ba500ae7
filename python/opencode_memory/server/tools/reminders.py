"""Tools for reminders and reviews of memories, which project briefs show when they are due."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import Field

from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.models import Memory
from opencode_memory.server.answers import Answer, describe_due, memory_data
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import tool
from opencode_memory.server.tools.argument_types import MemoryId
from opencode_memory.text.clock import parse_due
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id

_EXCERPT_BYTES: Final = 80
_DONE: Final = "done"
_NONE: Final = "none"
_ENDS: Final = {_DONE: "ends what is due and keeps its interval", _NONE: "removes the reminder"}


@tool()
def set_reminder(
    call: Call,
    memory_id: MemoryId,
    when: Annotated[str | None, Field(max_length=64, description="3d, 2026-03-31, done, none")] = None,
    every_days: Annotated[int | None, Field(ge=1, le=3650)] = None,
    review: bool = False,
) -> Answer:
    """Show a memory when due. review: ask if it still holds. when=done ends a due one, when=none removes it."""
    memory = call.get_visible(memory_id)
    word = None if when is None else when.strip().lower()
    if word in _ENDS and every_days is not None:
        raise InvalidInputError(f"every_days: when={word} {_ENDS[word]}; leave out one of them", field="every_days")
    if word == _NONE:
        return _answer(call, call.store.reminders.clear(memory.id, is_review=review))
    if word != _DONE:
        due = _find_due(when, every_days, at=call.at)
        return _answer(call, call.store.reminders.set(memory.id, due, every_days=every_days, is_review=review))
    if review:
        raise ConflictError("only the user ends a review: `opencode-memory remind done ID --review`")
    return _answer(call, call.store.reminders.advance(memory.id))


def _find_due(when: str | None, every_days: int | None, *, at: datetime) -> datetime:
    """Return when the reminder is due first; without ``when``, after the days of its repetition."""
    if when is not None:
        return parse_due(when, field="when", at=at)
    if every_days is not None:
        return at + timedelta(days=every_days)
    error = InvalidInputError("when: is missing; it says when the memory is due", field="when")
    error.hint = "give when, such as 3d, or every_days; when=none removes the reminder"
    raise error


def _answer(call: Call, memory: Memory) -> Answer:
    due = ", ".join(describe_due(memory, at=call.at)) or "no reminder"
    excerpt = f"[{short_id(memory.id)}] {one_line(memory.content, _EXCERPT_BYTES)}"
    return Answer(f"{excerpt}: {due}", {"memory": memory_data(memory)})
