"""What in a store could be put in order: memories that say the same, contradict each other, or are of no use any more.

Everything here proposes; ``apply`` does what was proposed, and each step of it can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory.models import Category, Memory, Scope, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 500
_LASTING: Final = frozenset(
    {Category.DIRECTIVE, Category.CONVENTION, Category.PREFERENCE, Category.DECISION, Category.CONVERSATION}
)
_TRUST: Final = {trust: rank for rank, trust in enumerate(Trust)}
DUPLICATE_FROM: Final = 0.95
"""The cosine from which two memories are proposed as duplicates; what is linked below it is only similar."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that should not both stand: ``keep`` and the one that would be archived."""

    keep: Memory
    archive: Memory
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What could be put in order.

    Attributes:
        stale: Memories that nobody used or confirmed for long, oldest first; they would be archived.
        duplicates: Pairs that say the same; the weaker would be archived.
        contradictions: Pairs of which one must be wrong; a person or an agent has to decide, so nothing is applied.
        more: How many further findings there are beyond the limit.
    """

    stale: tuple[Memory, ...]
    duplicates: tuple[Pair, ...]
    contradictions: tuple[Pair, ...]
    more: int


def propose(store: MemoryStore, *, project: str | None, days_stale: int, at: datetime, limit: int = 50) -> Proposal:
    """Look for what could be put in order in a project; nothing is changed.

    Args:
        store: Where to look.
        project: Whose memories; None for the global ones.
        days_stale: Memories that were not written, used or confirmed for so many days are stale.
        at: The present moment.
        limit: Most findings of each kind.
    """
    scope = Scope.owned_by(project)
    before = at - timedelta(days=days_stale)
    stale: list[Memory] = []
    offset = 0
    while page := store.list(scope=scope, older_than=before, limit=_PAGE, offset=offset):
        offset += len(page)
        stale += [memory for memory in page if _is_stale(memory, before)]
    stale.sort(key=lambda memory: memory.used_at or memory.updated_at)
    duplicates = _find_pairs(store, "similar", scope, at_least=DUPLICATE_FROM)
    contradictions = _find_pairs(store, "contradicts", scope, at_least=0.0)
    found = (stale, duplicates, contradictions)
    return Proposal(
        stale=tuple(stale[:limit]),
        duplicates=tuple(duplicates[:limit]),
        contradictions=tuple(contradictions[:limit]),
        more=sum(max(0, len(kind) - limit) for kind in found),
    )


def apply(store: MemoryStore, proposal: Proposal) -> list[Memory]:
    """Archive what is stale and the weaker of each pair of duplicates; returns what was archived.

    A chain of duplicates keeps one: what was archived in favour of another is not kept in favour of a third.
    """
    reasons: dict[str, str] = {memory.id: "stale" for memory in proposal.stale}
    for pair in proposal.duplicates:
        if pair.keep.id not in reasons:
            reasons.setdefault(pair.archive.id, f"duplicate of {pair.keep.id}")
    return [memory for one, reason in reasons.items() for memory in store.archive(one, reason=reason)]


def _is_stale(memory: Memory, before: datetime) -> bool:
    touched = (memory.updated_at, memory.used_at, memory.verified_at)
    if memory.pinned or memory.category in _LASTING or (memory.category is Category.BLOCKER and not _resolved(memory)):
        return False
    return all(moment is None or moment < before for moment in touched)


def _resolved(memory: Memory) -> bool:
    return "resolved" in memory.tags


def _find_pairs(store: MemoryStore, kind: str, scope: Scope, *, at_least: float) -> list[Pair]:
    pairs: list[Pair] = []
    for link in store.links([kind], scope=scope):
        if link.weight >= at_least:
            better, worse = sorted((store.get(link.source), store.get(link.target)), key=_rank, reverse=True)
            if not worse.pinned or kind == "contradicts":
                pairs.append(Pair(better, worse, link.reason))
    return pairs


def _rank(memory: Memory) -> tuple[bool, int, bool, bool, datetime, int]:
    """What of two that say the same decides which stays: a pin, trust, a confirmation, a topic, then the newer."""
    is_confirmed, has_topic = memory.verified_at is not None, memory.topic is not None
    return (memory.pinned, -_TRUST[memory.trust], is_confirmed, has_topic, memory.updated_at, memory.key)
