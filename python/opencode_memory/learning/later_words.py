"""Later words: finds the earlier statement of the user that a later sentence of theirs is about.

People lift a rule in words that no list of cues holds: "you can edit vendor/ like any other folder now", "Zephyr did
not work out, so FreeRTOS it is again". Such a sentence is near to the statement that it changes, but so are some
complaints about it, and reasons for it. So it is stored as an event, replaces nothing, and is only quoted below the
statement: the model that reads both decides. docs/quality.md has the figures.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_RULE: Final = "said later"
REASON: Final = "said later about the same subject, found by its words"
LEAST_WORDS: Final = 5
"""A shorter sentence, such as "fix the tests", is near to many statements."""
_LEAST_RELEVANCE: Final = 0.8
_MOST_READ: Final = 3
STATED: Final = (
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
    """Return the active statement that the user made earlier on the subject of a sentence; None if there is none.

    Args:
        store: The store.
        candidate: The sentence. The result is None if a rule takes it for lasting, if the user did not type it, or if
            it is a task or meant for once.
        project: The project of the session; None if it has none.
    """
    is_open = candidate.is_weak and candidate.is_persons and not candidate.is_foreign
    if not is_open or not _may_be_about_another(candidate.content):
        return None
    hits = store.recall(candidate.content, project=project, category=STATED, limit=_MOST_READ, unasked=True)
    near = [hit for hit in hits if hit.relevance is not None and hit.relevance >= _LEAST_RELEVANCE]
    found = max(near, key=lambda hit: hit.relevance or 0.0, default=None)
    if found is None or not found.memory.is_confirmed:
        return None
    return found.memory if is_earlier(found.memory, candidate) else None


def is_earlier(memory: Memory, candidate: Candidate) -> bool:
    """Return whether a memory is of an earlier message than a candidate."""
    is_later = candidate.at_ms > memory.time.timestamp() * 1_000
    return is_later and memory.source.message != candidate.message


def make_event(candidate: Candidate) -> Candidate:
    """Return a sentence as an event: no rule, compared with no statement, and quoted below the earlier one."""
    return replace(candidate, category=Category.EVENT, rule=_RULE)


def _may_be_about_another(text: str) -> bool:
    is_long_enough = len(text.split()) >= LEAST_WORDS
    return is_long_enough and not (_ONCE.search(text) or _TASK.match(text) or _OWN_VIEW.match(text))
