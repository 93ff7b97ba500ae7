"""Takes back what the messages stored that the user has undone in OpenCode, so that no model is told it any more.

This is an undo in the log: a memory that was replaced comes back, and ``redo`` reverses it. A memory that somebody has
changed since, for example edited or pinned, stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.models import Memory, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MACHINES: Final = frozenset({Trust.EXTRACTED, Trust.AGENT})
_UNDO_KINDS: Final = frozenset({"undo", "redo"})
_MOST_STEPS: Final = 100
"""Changes of memories that are undone one after another; each is one of a message of the same session."""
_log: Final = logging.getLogger(__name__)


def list_stored(store: MemoryStore, session: str, messages: Collection[str]) -> list[Memory]:
    """Return the memories that messages of a session stored, without those that somebody has changed since.

    Args:
        store: The store.
        session: The session.
        messages: Ids of its messages.
    """
    found = []
    for id_ in store.learning.find_from_messages(session, [*messages]) if messages else ():
        try:
            memory = store.get(id_)
            if _is_last_change_of_message(store, memory):
                found.append(memory)
        except NotFoundError as error:
            _log.debug("a memory of an undone message is gone: %s", error)
    return found


def take_back(store: MemoryStore, session: str, messages: Collection[str]) -> tuple[str, ...]:
    """Undo what messages of a session stored, the newest first; return the ids of the memories.

    A memory that an undone one had replaced comes back, and a memory may have got several texts from undone messages.
    So this goes on until no memory is from them.
    """
    taken: dict[str, None] = {}
    kept: set[str] = set()
    for _ in range(_MOST_STEPS):
        left = [memory for memory in list_stored(store, session, messages) if memory.id not in kept]
        if not left:
            break
        for id_ in _undo(store, (memory.id for memory in reversed(left)), kept):
            taken[id_] = None
    return tuple(taken)


def _undo(store: MemoryStore, ids: Iterable[str], kept: set[str]) -> Iterable[str]:
    for id_ in ids:
        try:
            store.undo(id_)
        except (NotFoundError, ConflictError) as error:
            _log.info("memory %s of an undone message stays: %s", id_, error)
            kept.add(id_)
        else:
            yield id_


def _is_last_change_of_message(store: MemoryStore, memory: Memory) -> bool:
    """Return whether the last change of a memory is the one that gave it the message that it is from."""
    changes = [change for change in store.history(memory.id) if not change.undone and change.kind not in _UNDO_KINDS]
    if not changes or changes[-1].actor not in _MACHINES:
        return False
    before = changes[-1].before
    return before is None or (before.source.session, before.source.message) != (
        memory.source.session,
        memory.source.message,
    )
