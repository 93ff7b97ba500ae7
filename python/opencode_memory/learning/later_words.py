"""Later words: finds the earlier statement of a person that a later sentence of theirs is about.

People lift a rule in words that no list of cues holds: "you can edit vendor/ like any other folder now", "Zephyr did
not work out, so FreeRTOS it is again". Such a sentence is near to the statement that it changes, but so are some
complaints about it, and reasons for it. So it is stored as an event, replaces nothing, and is only quoted below the
statement: the model that reads both decides. docs/quality.md has the figures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = "said later about the same subject, found by its words"
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
_ONCE: Final = re.compile(
    r"(?<!starting )(?<!from )(?<!of )(?<!since )\b(?:today|tonight|tomorrow|next week)\b|\b(?:right now|for now"
    r"|for the moment|at the moment|just (?:this )?once|only once|this (?:time|once)|in a hurry|my approval"
    r"|temporarily)\b"
    r"|\b(?:this|the) (?:commit|pr|pull request|task|branch|demo|hotfix|sprint|week|session|ticket|one)\b"
    r"|\buntil (?:i|we|tomorrow|monday|next)\b",
    re.IGNORECASE,
)
"""Words of what is meant for once."""
_TASK: Final = re.compile(
    r"^(?:(?:ok|so|and|then|now|also|please|pls|just|can you|could you|go ahead and)[,:]? )*(?:add|fix|remove|delete"
    r"|run|rename|rerun|check|write|rewrite|create|make|show|explain|look|find|review|update|test|build|convert|extract|list"
    r"|generate|open|print|refactor|implement|document|describe|summari[sz]e|tell|catch|merge|push|commit|deploy|move"
    r"|replace|skip|edit|touch)\b",
    re.IGNORECASE,
)
_OWN_VIEW: Final = re.compile(
    r"^(?:i|we) (?:\w+ )?(?:like|love|hate|told|said|think|guess|hope|wish|looked|checked|see|saw|tried|ran|noticed)\b"
    r"|^(?:who|why|how|what|which|since when|as i said|thanks)\b",
    re.IGNORECASE,
)


def find_earlier_statement(store: MemoryStore, candidate: Candidate, project: str | None) -> Memory | None:
    """Return the active statement of the person that a later sentence of theirs is about; None if there is none.

    Args:
        store: The store.
        candidate: The sentence. What the person did not type, or meant for once, is about no statement.
        project: The project of the session; None if it has none.
    """
    if not candidate.is_persons or candidate.is_foreign or not _may_be_about_another(candidate.content):
        return None
    hits = store.recall(candidate.content, project=project, category=_STATEMENTS, limit=_MOST_READ, unasked=True)
    near = [hit for hit in hits if hit.relevance is not None and hit.relevance >= _LEAST_RELEVANCE]
    found = max(near, key=lambda hit: hit.relevance or 0.0, default=None)
    if found is None or not found.memory.is_confirmed:
        return None
    is_later = candidate.at_ms > found.memory.time.timestamp() * 1_000
    return found.memory if is_later and found.memory.source.message != candidate.message else None


def _may_be_about_another(text: str) -> bool:
    is_long_enough = len(text.split()) >= LEAST_WORDS
    return is_long_enough and not (_ONCE.search(text) or _TASK.match(text) or _OWN_VIEW.match(text))
