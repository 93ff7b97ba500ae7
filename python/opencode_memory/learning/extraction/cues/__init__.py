"""Cues: tables of weighted patterns that indicate a category of statement, one module for each group of categories.

A weight is the confidence that one cue alone gives, 0 to 1. All patterns are English; in other languages they match
hardly any text, so they produce no wrong statements there.
"""

from opencode_memory.learning.extraction.cues.base import Cue, Kind
from opencode_memory.learning.extraction.cues.choices import DECISIONS
from opencode_memory.learning.extraction.cues.facts import FACTS, FINDINGS
from opencode_memory.learning.extraction.cues.habits import CONVENTIONS
from opencode_memory.learning.extraction.cues.intentions import BLOCKERS, IDEAS, PLANS
from opencode_memory.learning.extraction.cues.orders import DIRECTIVES
from opencode_memory.learning.extraction.cues.steps import PROCEDURES
from opencode_memory.learning.extraction.cues.wishes import PREFERENCES

PERSON: tuple[Kind, ...] = (
    BLOCKERS,
    DIRECTIVES,
    PREFERENCES,
    DECISIONS,
    CONVENTIONS,
    PLANS,
    IDEAS,
    PROCEDURES,
    FACTS,
)
"""Categories of a user's statements; of two with equal scores the first one wins."""
AGENT: tuple[Kind, ...] = (FINDINGS,)
"""Categories of an agent's findings."""

__all__ = ["AGENT", "PERSON", "Cue", "Kind"]
