"""Todo lists of OpenCode's sessions, as its events tell them: the item at work, for people who watch a loop.

They are kept in memory only, because OpenCode stores its lists itself, and an event follows with the next change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from opencode_memory._core import redact
from opencode_memory.text.display import one_line

_MOST_SESSIONS: Final = 200
_ITEM_BYTES: Final = 200


class Todos:
    """The items at work, by session."""

    def __init__(self) -> None:
        self._items: OrderedDict[str, str] = OrderedDict()

    def take(self, params: Any) -> None:
        """Read an ``events`` notification of a plugin. Anything else than a list of todos is ignored."""
        events = params.get("events") if isinstance(params, Mapping) else None
        for event in events if isinstance(events, list) else ():
            match event:
                case {"type": "todo.updated", "properties": {"sessionID": str(session), "todos": list(todos)}}:
                    self._items.pop(session, None)
                    if (item := _find_current(todos)) is not None:
                        self._items[session] = item
        while len(self._items) > _MOST_SESSIONS:
            self._items.popitem(last=False)

    def find(self, session: str) -> str | None:
        """Return the item at which a session works, with its place in the list; None if no item is known."""
        return self._items.get(session)


def _find_current(todos: list[Any]) -> str | None:
    for number, todo in enumerate(todos, start=1):
        match todo:
            case {"status": "in_progress", "content": str(content)}:
                return f"{number}/{len(todos)} {one_line(redact(content)[0], _ITEM_BYTES)}"
    return None
