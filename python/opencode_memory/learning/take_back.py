"""Takes back what the messages stored that the user has undone in OpenCode, so that no model is told it any more.

This is an undo in the log: a memory that was replaced comes back, and ``redo`` reverses it. A memory that somebody has
changed since, for example edited or pinned, stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.models import Memory, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_WRITERS: Final = frozenset({Trust.EXTRACTED, Trust.AGENT})
_TURNS: Final = frozenset({"undo", "redo"})
_log: Final = logging.getLogger(__name__)


def take_back(store: MemoryStore, session: str, messages: Sequence[str]) -> list[Memory]:
    """Undo the memories that the rules or the agent stored from messages of a session; return these memories.

    Args:
        store: The store.
        session: The session.
        messages: Ids of its messages.
    """
    found: dict[str, Memory] = {}
    tried: set[str] = set()
    # A memory that an undone one had replaced comes back, and may be from an undone message as well.
    while ids := [id_ for id_ in store.learning.find_from_messages(session, messages) if id_ not in tried]:
        tried.update(ids)
        found |= {memory.id: memory for memory in _undo(store, ids, session, frozenset(messages))}
    return list(found.values())


def _undo(store: MemoryStore, ids: Sequence[str], session: str, messages: frozenset[str]) -> Iterator[Memory]:
    for id_ in reversed(ids):
        try:
            memory = store.get(id_)
            if _is_last_written_by(store, memory, session, messages):
                store.undo(id_)
                yield memory
        except (NotFoundError, ConflictError) as error:
            _log.info("memory %s of an undone message stays: %s", id_, error)


def _is_last_written_by(store: MemoryStore, memory: Memory, session: str, messages: frozenset[str]) -> bool:
    """Return whether the last change of a memory is the one that stored it from one of these messages."""
    changes = [change for change in store.history(memory.id) if not change.undone and change.kind not in _TURNS]
    if not changes or changes[-1].actor not in _WRITERS:
        return False
    before = changes[-1].before
    return before is None or before.source.session != session or before.source.message not in messages
