"""Later words: finds the earlier statement of a person that a later sentence is about.

People lift a rule in words that no list of cues holds: "you can edit vendor/ like any other folder now", "Zephyr did
not work out, so FreeRTOS it is again". Such a sentence is near to the statement that it changes, and few others are:
docs/quality.md has the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = "said later about the same subject"
LEAST_WORDS: Final = 5
"""A shorter sentence, such as "fix the tests", is near to many statements."""
_LEAST_RELEVANCE: Final = 0.8
_MOST_READ: Final = 3
_STATEMENTS: Final = (
    Category.DIRECTIVE,
    Category.CONVENTION,
    Category.PREFERENCE,
    Category.DECISION,
    Category.PROCEDURE,
    Category.FACT,
)


def find_earlier_statement(store: MemoryStore, candidate: Candidate, project: str | None) -> Memory | None:
    """Return the active statement of the person that a sentence of theirs is about; None if there is none.

    Args:
        store: The store.
        candidate: The sentence. What the person did not type is about no statement.
        project: The project of the session; None if it has none.
    """
    if not candidate.is_persons or candidate.is_foreign or len(candidate.content.split()) < LEAST_WORDS:
        return None
    hits = store.recall(candidate.content, project=project, category=_STATEMENTS, limit=_MOST_READ, unasked=True)
    near = [hit for hit in hits if hit.relevance is not None and hit.relevance >= _LEAST_RELEVANCE]
    found = max(near, key=lambda hit: hit.relevance or 0.0, default=None)
    if found is None or not found.memory.is_confirmed or found.memory.source.message == candidate.message:
        return None
    return found.memory
