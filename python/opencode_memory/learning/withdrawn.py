"""Withdrawn statements: "forget the rule about pnpm" names an earlier statement of the user by its words.

Such a sentence is also said of rules in code, and of statements that only share a word. So it replaces nothing. It is
quoted below the statement, as other later words are: the model that reads both decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.later_words import STATED, is_earlier

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = "withdrawn by its words"
_MOST_READ: Final = 30


def find_withdrawn(store: MemoryStore, candidate: Candidate, project: str | None) -> Memory | None:
    """Return the stored statement that the user withdraws; None if none of theirs has its words.

    Args:
        store: The store.
        candidate: The sentence with the subject of the statement.
        project: The project of the session; None if it has none.
    """
    if not candidate.is_persons or candidate.is_foreign:
        return None
    hits = store.recall(
        candidate.withdraws, project=project, category=STATED, limit=_MOST_READ, unasked=True, nearest=True
    )
    memories = (hit.memory for hit in hits if hit.memory.is_confirmed and is_earlier(hit.memory, candidate))
    return next((memory for memory in memories if candidate.may_withdraw(memory.content)), None)


def find_withdrawn_before(earlier: Sequence[Candidate], candidate: Candidate) -> int | None:
    """Return the place of the statement that the user withdraws among those of the same batch; None if it has none."""
    return next(
        (
            place
            for place, one in reversed([*enumerate(earlier)])
            if one.is_persons and not one.withdraws and candidate.may_withdraw(one.content)
        ),
        None,
    )
