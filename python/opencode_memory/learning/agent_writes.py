"""Finds what the tools of this program changed for an agent, so that an undo of its message can take that back.

The MCP server is not told in which session a tool was called. But the events of a session name each call, with its
times and its output. So a change belongs to the call that names its memory and during which an agent made it. A shell
makes none: the command line writes for the user. But it may run for long, while other agents change what it prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.extraction.events import SHELLS, Message, ToolCall, ToolStatus
from opencode_memory.learning.take_back import UNDO_KINDS, Taken
from opencode_memory.models import Trust
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_ID: Final = re.compile(r"\[([0-9a-f]{8})\]")
"""The end of an id, as the answers of the tools name memories."""
_MOST: Final = 50


def find_writes(store: MemoryStore, message: Message) -> Iterator[Taken]:
    """Yield the changes of memories that the agent made with the tools of a message, the oldest first.

    Args:
        store: The store.
        message: The message, with the events as they were published.
    """
    found: dict[Taken, None] = {}
    for call in message.events:
        if isinstance(call, ToolCall) and call.status is ToolStatus.COMPLETED and call.tool not in SHELLS:
            named = list(dict.fromkeys(_ID.findall(call.output)))[:_MOST]
            found |= dict.fromkeys(change for id_ in named for change in _list_changes(store, id_, call))
    yield from sorted(found, key=lambda change: change[1])


def _list_changes(store: MemoryStore, id_: str, call: ToolCall) -> Iterator[Taken]:
    try:
        history = store.history(id_)
    except (NotFoundError, ConflictError, InvalidInputError):
        return  # No memory has this id, or several have.
    for change in history:
        is_agents = change.actor is Trust.AGENT and change.kind not in UNDO_KINDS and not change.undone
        if is_agents and call.begun_ms <= to_ms(change.at) <= call.ended_ms:
            yield change.id, change.operation
