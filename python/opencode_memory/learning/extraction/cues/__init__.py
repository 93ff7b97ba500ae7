"""What in a sentence speaks for a kind of statement: tables of patterns with weights, one file for each kind.

A weight is how sure one cue alone makes us, 0 to 1. Rules are English; they find nothing in other languages, and nothing wrong.
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
"""What a person may say; of two kinds that are as sure, the first."""
AGENT: tuple[Kind, ...] = (FINDINGS,)
"""What an agent may have found out."""

__all__ = ["AGENT", "PERSON", "Cue", "Kind"]
