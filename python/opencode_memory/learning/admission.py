"""Admission: which candidates become memories, which wait for a person, and which are only noted.

=====================================  =======================================================================
confidence of the rules                what becomes of the candidate
=====================================  =======================================================================
at least ``active_from(category)``     a memory, active at once, of trust ``extracted``
at least ``WAITING_FROM``              waits: never injected, shown by ``review``; active when a person accepts
                                       it, or when the same is seen in a second session of the project
less                                   nothing; that it was seen is noted, and a command that succeeds in a
                                       second session is a procedure
=====================================  =======================================================================

Whatever its confidence, an order that is not the person's own words waits.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Status

ACTIVE_FROM: Final = 0.7
WAITING_FROM: Final = 0.45
_PLAIN: Final = {Category.IDEA: 0.5, Category.PROCEDURE: 0.5, Category.PLAN: 0.6}
"""Kinds that are told apart so well that less is enough: of labelled sessions that no weight was fitted to, seven in
eight were right from there on."""


def active_from(category: Category) -> float:
    """Return the confidence from which a candidate of a category is a memory at once."""
    return min(ACTIVE_FROM, _PLAIN.get(category, ACTIVE_FROM))


def admit(candidate: Candidate, *, elsewhere: int) -> Status | None:
    """Say what becomes of a candidate.

    Args:
        candidate: What the rules found.
        elsewhere: In how many other sessions of the project the same was seen.

    Returns:
        The status of the memory; None for no memory.
    """
    is_again = elsewhere > 0 and (candidate.category is Category.PROCEDURE or candidate.confidence >= WAITING_FROM)
    if candidate.confidence >= active_from(candidate.category) or is_again:
        is_order = candidate.category is Category.DIRECTIVE and not candidate.is_persons
        return Status.CANDIDATE if is_order else Status.ACTIVE
    return Status.CANDIDATE if candidate.confidence >= WAITING_FROM else None
