"""Admission: decides for each candidate whether it becomes a memory, waits for the user, or is only counted.

=====================================================  =======================================================
candidate                                              outcome
=====================================================  =======================================================
statement of the user that passed the gate,            a memory, active at once
finding of the agent, solution, command
weak statement                                         active if the same statement occurred in enough other
                                                       sessions, or if it changes an active memory about the
                                                       same subject; otherwise only counted
any other sentence of the user                         an event if it is near to an earlier statement of theirs
directive or procedure that the user did not type      waits: never injected, shown by ``review``
=====================================================  =======================================================

A command that succeeded is no order: it is a record of what worked.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category, Status

LEAST_CONFIDENCE: Final = 0.7
"""Confidence from which a candidate that the user did not type becomes active at once."""
_LEAST_OF_COMMANDS: Final = 0.5
_INSTRUCTIONS: Final = frozenset({Category.DIRECTIVE, Category.PROCEDURE})
_RULES: Final = _INSTRUCTIONS | {Category.CONVENTION, Category.PREFERENCE}
"""Categories whose words must not come from a tool result, a file or a web page of the session."""


def admit(candidate: Candidate, *, elsewhere: int, changes_active: bool = False) -> Status | None:
    """Decide about a candidate.

    Args:
        candidate: The candidate that the rules found.
        elsewhere: Number of other sessions of the project in which the same statement occurred.
        changes_active: Whether an active memory about the same subject says something else.

    Returns:
        The status of the memory; None if it is not stored.
    """
    if not _is_sufficient(candidate, elsewhere, changes_active=changes_active):
        return None
    return Status.CANDIDATE if quarantines(candidate) else Status.ACTIVE


def quarantines(candidate: Candidate) -> bool:
    """Return whether a candidate is an instruction that the user did not type, so that it waits for them.

    A rule that the user pasted from what a tool returned in the session waits as well.
    """
    if candidate.is_foreign and candidate.category in _RULES:
        return True
    if candidate.category not in _INSTRUCTIONS or candidate.is_observed or candidate.rule.startswith("succeeded"):
        return False
    return not candidate.is_persons


def _is_sufficient(candidate: Candidate, elsewhere: int, *, changes_active: bool) -> bool:
    if candidate.is_weak:
        is_repeated = 0 < candidate.needs_sessions <= elsewhere
        return is_repeated or changes_active
    if candidate.is_persons:
        return True
    if candidate.category is Category.PROCEDURE:
        return candidate.confidence >= _LEAST_OF_COMMANDS or elsewhere > 0
    return candidate.confidence >= LEAST_CONFIDENCE
