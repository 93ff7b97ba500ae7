"""Ageing: archives old memories; ``restore`` and ``undo`` bring them back, and none is deleted.

Blockers are archived 90 days after they were resolved, and conversations after 180 days. Pinned memories do not age.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.models import ALL_PROJECTS, Category
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

RESOLVED_BLOCKER_DAYS: Final = 90
CONVERSATION_DAYS: Final = 180
_PAGE: Final = 500


def age(store: MemoryStore, *, at: datetime) -> int:
    """Archive old memories.

    Args:
        store: The store.
        at: The current time.

    Returns:
        Number of archived memories.
    """
    archived = 0
    for category, days, reason in (
        (Category.BLOCKER, RESOLVED_BLOCKER_DAYS, f"resolved more than {RESOLVED_BLOCKER_DAYS} days ago"),
        (Category.CONVERSATION, CONVERSATION_DAYS, f"older than {CONVERSATION_DAYS} days"),
    ):
        old = [memory.id for memory in _find_old(store, category, at - timedelta(days=days))]
        for start in range(0, len(old), _PAGE):
            archived += len(store.operations.archive_in_upkeep(old[start : start + _PAGE], reason))
    return archived


def _find_old(store: MemoryStore, category: Category, before: datetime) -> Iterator[Memory]:
    for memory in list_all(store, project=ALL_PROJECTS, category=category, older_than=before):
        is_over = category is not Category.BLOCKER or memory.is_resolved
        # A memory that was repeated or corrected since then is not old.
        touched = max(memory.updated_at, memory.used_at or memory.updated_at)
        if is_over and not memory.pinned and touched < before and not was_restored(store, memory):
            yield memory


def was_restored(store: MemoryStore, memory: Memory) -> bool:
    """Return whether a memory was restored after it was archived; it must not be archived again automatically."""
    entries = store.history(memory.id)
    # In the history, the reason follows the kind.
    return any(
        entry.kind == "restore" or (entry.kind.startswith(("archive", "upkeep")) and entry.undone) for entry in entries
    )
