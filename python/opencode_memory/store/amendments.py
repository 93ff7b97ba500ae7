"""Puts the session that amends an earlier decision above the session that it amends.

The user who amends a rule says so when the session begins (``announcement``). The later session is usually worded less
like the question, because it repeats less of the matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opencode_memory.models import SessionHit

_SHARE: Final = 0.7
"""Relevance that a later session must have at least, as a share of the earlier one's."""
_MOST_SESSIONS: Final = 5
"""Number of sessions, by rank, that are compared."""


def put_amendments_first(hits: Sequence[SessionHit], announces: Callable[[SessionHit], bool]) -> list[SessionHit]:
    """Move the best hit of an amending session directly above that of the earlier session.

    Args:
        hits: Hits, best first.
        announces: Tells whether what the user said first in the session of a hit announces a change; called for few
            sessions only.
    """
    firsts: dict[tuple[str, str], SessionHit] = {}
    for hit in hits:
        firsts.setdefault((hit.turn.database, hit.turn.session), hit)
    best = list(firsts.values())[:_MOST_SESSIONS]
    ordered = list(hits)
    for number, later in enumerate(best):
        above = [
            earlier
            for earlier in best[:number]
            if earlier.turn.time < later.turn.time
            and earlier.turn.project == later.turn.project
            and (later.relevance or 0.0) >= _SHARE * (earlier.relevance or 0.0)
        ]
        if above and announces(later):
            ordered.remove(later)
            ordered.insert(ordered.index(above[0]), later)
    return ordered
