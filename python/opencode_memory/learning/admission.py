"""Admission: decides for each candidate whether it becomes a memory, waits for review, or is only counted.

=====================================  =======================================================================
confidence of the rules                outcome for the candidate
=====================================  =======================================================================
at least ``active_from(category)``     a memory, active at once, of trust ``extracted``
at least ``WAITING_FROM``              waits: never injected, shown by ``review``; active when the user accepts
                                       it, or when a second session of the project has the same statement
less                                   no memory; the sighting is counted, and a command that succeeds in a
                                       second session becomes a procedure
=====================================  =======================================================================

A directive that the user did not type waits, even if its confidence is high.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Status

ACTIVE_FROM: Final = 0.7
WAITING_FROM: Final = 0.45
_PLAIN: Final = {Category.IDEA: 0.5, Category.PROCEDURE: 0.5, Category.PLAN: 0.6}
"""Lower thresholds for categories that are easy to recognise. In labelled sessions that no weight was fitted to,
seven of eight such candidates were right from these values on."""


def active_from(category: Category) -> float:
    """Return the confidence from which a candidate of a category becomes active at once."""
    return min(ACTIVE_FROM, _PLAIN.get(category, ACTIVE_FROM))


def admit(candidate: Candidate, *, elsewhere: int) -> Status | None:
    """Decide about a candidate.

    Args:
        candidate: The candidate that the rules found.
        elsewhere: Number of other sessions of the project in which the same statement occurred.

    Returns:
        The status of the memory; None if it is not stored.
    """
    is_again = elsewhere > 0 and (candidate.category is Category.PROCEDURE or candidate.confidence >= WAITING_FROM)
    if candidate.confidence >= active_from(candidate.category) or is_again:
        is_order = candidate.category is Category.DIRECTIVE and not candidate.is_persons
        return Status.CANDIDATE if is_order else Status.ACTIVE
    return Status.CANDIDATE if candidate.confidence >= WAITING_FROM else None
