"""Finds what the user said later about a memory, or against it, so that a reader does not take it for the last word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import NotFoundError
from opencode_memory.models import Memory, Status
from opencode_memory.store.learning_state import SAID_LATER

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_RELATED: Final = 50
_LATER: Final = frozenset({SAID_LATER, "contradicts"})
"""Kinds of links from later words to the statement that they are about, or against."""


def list_later(store: MemoryStore, memory: Memory) -> list[Memory]:
    """Return the active memories that were said later about a memory, or against it, newest first."""
    linked = (relative.memory for relative in store.related(memory.id, limit=_MOST_RELATED) if relative.kind in _LATER)
    later = [newer for newer in linked if newer.status is Status.ACTIVE and newer.time > memory.time]
    return sorted(later, key=lambda newer: newer.time, reverse=True)


def find_said_later(store: MemoryStore, memories: Sequence[Memory], project: str | None) -> dict[str, Memory]:
    """Return what the user said last about some memories, by their ids, unless it is one of these memories itself.

    Args:
        store: The store of the links.
        memories: The memories.
        project: The project of the reader, as for a recall.
    """
    by_id = {memory.id: memory for memory in memories}
    found: dict[str, Memory] = {}
    for link in store.links_to([*by_id], [SAID_LATER], project=project):
        if link.source in by_id:
            continue
        try:
            later = store.get(link.source)
        except NotFoundError:
            continue  # Deleted in the meantime.
        if later.is_confirmed and later.time > found.get(link.target, by_id[link.target]).time:
            found[link.target] = later
    return found
