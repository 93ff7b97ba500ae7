"""Selects the memories of earlier rules, and finds the reasons for which some of them are always kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.rules_version import RULES, RULES_KEY
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Status, Trust
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

JUDGED: Final = (Status.ACTIVE, Status.CANDIDATE)
_TOOL: Final = "opencode"
_DIGEST: Final = "digest"
_BY_HAND: Final = ("edit", "restore", "pin", "unpin", "link")


def list_old(store: MemoryStore) -> Iterator[Memory]:
    """Yield the active and waiting memories of all projects that earlier rules learned, page by page."""
    yield from filter(is_old, list_all(store, project=ALL_PROJECTS, status=JUDGED, with_expired=True))


def is_old(memory: Memory) -> bool:
    """Return whether earlier rules learned a memory from a session. Summaries, digests and imports are left out."""
    return (
        memory.is_learned
        and isinstance(memory.metadata.get("rule"), str)
        and memory.metadata["rule"] != _DIGEST
        and memory.category is not Category.CONVERSATION
        and memory.source.tool == _TOOL
        and "agent" not in memory.metadata
        and memory.metadata.get(RULES_KEY) != RULES
    )


def list_successors(store: MemoryStore) -> frozenset[str]:
    """Return the ids of the memories that replaced another one."""
    replaced = list_all(store, project=ALL_PROJECTS, status=Status.SUPERSEDED, with_expired=True)
    return frozenset(memory.superseded_by for memory in replaced if memory.superseded_by is not None)


def find_protection(store: MemoryStore, memory: Memory, successors: frozenset[str]) -> str | None:
    """Return why a memory is kept whatever the rules say about it; None if the rules decide.

    Args:
        store: The store.
        memory: A memory of earlier rules.
        successors: Ids of memories that replaced another one. Without them, nothing would be left of the subject.
    """
    if memory.verified_at is not None:
        return "confirmed"
    if memory.pinned:
        return "pinned"
    if memory.uses or _was_used(store, memory.id):
        return "used"
    changes = [
        change for change in store.history(memory.id) if not change.undone and change.actor is not Trust.EXTRACTED
    ]
    if any(change.kind.split(":")[0] in _BY_HAND for change in changes):
        return "edited or accepted"
    if memory.id in successors:
        return "replaces an earlier memory"
    return None


def _was_used(store: MemoryStore, id_: str) -> bool:
    found: Sequence[int] = [usefulness.used for usefulness in store.ledger.usefulness([id_]).values()]
    return any(found)
