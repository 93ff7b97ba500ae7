"""Offers relearning once after an upgrade that changed the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.rules_version import RULES
from opencode_memory.learning.relearn.selection import list_old
from opencode_memory.store import reserved_keys

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_KEY: Final = f"{reserved_keys.PROGRAM}relearn"
OFFER: Final = (
    "Learning has new, stricter rules. `opencode-memory learning relearn --dry-run` shows which earlier memories "
    "no longer qualify."
)


def is_due(store: MemoryStore) -> bool:
    """Return whether the store has memories of earlier rules that were neither judged nor offered yet."""
    return _read(store) != RULES and any(True for _ in list_old(store))


def take_offer(store: MemoryStore) -> str | None:
    """Return the offer the first time that it is due; None later, and if nothing is to be judged."""
    if _read(store) == RULES:
        return None
    has_old = any(True for _ in list_old(store))
    settle_offer(store)
    return OFFER if has_old else None


def settle_offer(store: MemoryStore) -> None:
    """Record that relearning was offered or done for the present rules."""
    store.for_project(None).kv.set(_KEY, RULES, ttl_seconds=None)


def _read(store: MemoryStore) -> object:
    return store.for_project(None).kv.get(_KEY)
