"""Consolidation: proposes to archive stale memories and duplicates, and lists contradictions.

``propose`` does not change the store. ``apply`` archives the proposed memories, and one undo brings all of them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from opencode_memory._core import terms
from opencode_memory.models import Category, Memory, Scope, Trust
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LASTING: Final = frozenset(
    {Category.DIRECTIVE, Category.CONVENTION, Category.PREFERENCE, Category.DECISION, Category.CONVERSATION}
)
_TRUST: Final = {trust: rank for rank, trust in enumerate(Trust)}
DUPLICATE_FROM: Final = 0.95
"""Minimum cosine of two memories that are proposed as duplicates; linked memories below it are only similar."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories of which only ``keep`` should stay active."""

    keep: Memory
    archive: Memory
    reason: str

    def has_same_words(self) -> bool:
        """Return whether both have the same words and names, in any order, apart from endings and words like "the"."""
        kept, archived = terms(self.keep.content), terms(self.archive.content)
        return all(sorted(one) == sorted(other) for one, other in zip(kept, archived, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Proposed changes.

    Attributes:
        stale: Memories that were not used or confirmed for a long time, oldest first; ``apply`` archives them.
        duplicates: Pairs with the same meaning; ``apply`` archives the weaker one.
        contradictions: Contradicting pairs; a user or an agent has to decide, so ``apply`` ignores them.
        more: Number of findings beyond the limit.
    """

    stale: tuple[Memory, ...]
    duplicates: tuple[Pair, ...]
    contradictions: tuple[Pair, ...]
    more: int


def propose(store: MemoryStore, *, project: str | None, days_stale: int, at: datetime, limit: int = 50) -> Proposal:
    """Find stale, duplicate and contradicting memories of a project.

    Args:
        store: The store.
        project: Name of the project; None for global memories.
        days_stale: Memories that were not written, used or confirmed for this many days are stale.
        at: The current time.
        limit: Maximum number of findings of each kind.
    """
    scope = Scope.owned_by(project)
    before = at - timedelta(days=days_stale)
    stale = [memory for memory in list_all(store, scope=scope, older_than=before) if _is_stale(memory, before)]
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


def apply(store: MemoryStore, proposal: Proposal, *, in_upkeep: bool = False) -> list[Memory]:
    """Archive stale memories and the weaker memory of each duplicate pair; return the archived memories.

    With ``in_upkeep`` the program acts by itself, so the change does not stop an undo of earlier changes.

    In a chain of duplicates one memory stays: a memory that is archived in favour of another does not archive a third.
    """
    store = store.in_one_operation()
    reasons: dict[str, str] = {memory.id: "stale" for memory in proposal.stale}
    for pair in proposal.duplicates:
        if pair.keep.id not in reasons:
            reasons.setdefault(pair.archive.id, f"duplicate of {pair.keep.id}")
    if in_upkeep:
        return [
            memory
            for memory_id, reason in reasons.items()
            for memory in store.operations.archive_in_upkeep([memory_id], reason)
        ]
    return [memory for memory_id, reason in reasons.items() for memory in store.archive(memory_id, reason=reason)]


def _is_stale(memory: Memory, before: datetime) -> bool:
    # The worker writes facts of forges and fetches them again, so age and likeness say nothing about them.
    if memory.is_from_forge:
        return False
    touched = (memory.updated_at, memory.used_at, memory.verified_at)
    if memory.pinned or memory.category in _LASTING or (memory.category is Category.BLOCKER and not memory.is_resolved):
        return False
    return all(moment is None or moment < before for moment in touched)


def _find_pairs(store: MemoryStore, kind: str, scope: Scope, *, at_least: float) -> list[Pair]:
    pairs: list[Pair] = []
    for link in store.links([kind], scope=scope):
        if link.weight >= at_least:
            better, worse = sorted((store.get(link.source), store.get(link.target)), key=_rank, reverse=True)
            if better.is_from_forge or worse.is_from_forge:
                continue  # Two issues with one title are two issues.
            if not worse.pinned or kind == "contradicts":
                pairs.append(Pair(better, worse, link.reason))
    return pairs


def _rank(memory: Memory) -> tuple[bool, int, bool, bool, datetime, int]:
    """Return the sort key that decides which duplicate stays: pin, trust, confirmation, topic, then the newer one."""
    is_confirmed, has_topic = memory.verified_at is not None, memory.topic is not None
    return (memory.pinned, -_TRUST[memory.trust], is_confirmed, has_topic, memory.updated_at, memory.key)
