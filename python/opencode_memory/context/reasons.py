"""Why a block shows a memory, as the ledger records it, and what follows for the rest of the session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opencode_memory.store.ledger import Decision, Shown, State

IN_BRIEF: Final = "brief"
HEADLINE: Final = "headline"
"""The memory is shown only as a headline, so that it may still be shown in full."""
BEFORE: Final = "earlier statement"
LATER: Final = "later words"
"""The user said this about a shown memory, and the block quotes a part of it."""
FOUND_AGAIN: Final = "found for earlier messages"
"""The memory was found before a compaction, and the brief after it shows it in full."""
NOT_IN_FULL: Final = frozenset({HEADLINE, BEFORE, LATER})
_MOST_FOUND: Final = 12
"""Memories that were found for earlier messages, newest first; a long session moves on to other subjects."""


def find_found_before(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """Return the ids of the memories that were found for messages of a session, newest first.

    They tell what the session is about when a message says nothing, for example after a compaction.

    Args:
        decisions: The decisions of the session, oldest first.
    """
    shown = [decision for decision in decisions if decision.state is State.SHOWN]
    found = (entry.memory for decision in reversed(shown) for entry in decision.shown if _was_found(entry))
    return tuple(dict.fromkeys(found))[:_MOST_FOUND]


def _was_found(shown: Shown) -> bool:
    # The brief of the same block may show a hit in its place. Only hits have a score.
    return shown.why not in NOT_IN_FULL and (shown.why != IN_BRIEF or shown.score > 0)
