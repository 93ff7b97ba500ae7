"""Withdrawn statements: "forget the rule about pnpm" names an earlier statement of the person by its words.

The sentence replaces that statement, so no model is told it any more, and ``undo`` brings it back. If several
statements have these words, none is replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opencode_memory._core import terms
from opencode_memory.learning.later_words import STATED, is_earlier
from opencode_memory.models import Memory, Scope

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.candidate import Candidate
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = "withdrawn by its words"
_MOST_READ: Final = 30


def find_withdrawn(store: MemoryStore, candidate: Candidate, project: str | None) -> Memory | None:
    """Return the statement that a person withdraws; None if none of theirs has its words, or more than one.

    Args:
        store: The store.
        candidate: The sentence with the subject of the statement.
        project: The project of the session; None if it has none. Only its own statements are withdrawn.
    """
    wanted = frozenset(terms(candidate.withdraws)[0])
    if not wanted or not candidate.is_persons or candidate.is_foreign:
        return None
    hits = store.recall(candidate.withdraws, scope=Scope.owned_by(project), category=STATED, limit=_MOST_READ)
    memories = [hit.memory for hit in hits if hit.memory.is_confirmed and is_earlier(hit.memory, candidate)]
    named = [memory for memory in memories if wanted.issubset(terms(memory.content)[0])]
    return named[0] if len(named) == 1 and not named[0].pinned else None
