"""Puts the session that amends an earlier decision above the session that it amends.

A person who amends a rule says so when the session begins: "Amendment to the merge rule", "two updates to the policy
that we settled". The later session is usually worded less like the question, because it repeats less of the matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from opencode_memory.models import SessionHit

_SHARE: Final = 0.7
"""Relevance that a later session must have at least, as a share of the earlier one's."""
_MOST_SESSIONS: Final = 5
"""Number of sessions, by rank, that are compared."""
_ANNOUNCES: Final = re.compile(
    r"\bamend(?:ment|ments|ed|ing)?\b"
    r"|\b(?:updates?|changes?|corrections?|revisions?|follow[- ]?ups?) (?:to|of|on|for) (?:the|our|that|my|what|how)\b"
    r"|\b(?:revisit|reopen|overturn|roll back|walk back)\w*\b|\bchanged? (?:my|our) minds?\b"
    r"|\b(?:rule|policy|decision|convention|limit|setting|plan) (?:from|of) (?:last|the other|a few|two|three)\b",
    re.IGNORECASE,
)
# Two searches instead of one with `.*` between, which takes a time quadratic in the length of the text.
_DECIDED: Final = re.compile(
    r"\b(?:we|i|you|they)(?:'ve| have| had)? (?:\w+ )?(?:settled|agreed|decided|chose|picked)\b", re.IGNORECASE
)
_BUT: Final = re.compile(r"\b(?:but|no longer|change|changed|update|instead|wrong|revisit|different)\b", re.IGNORECASE)


def announces_change(text: str) -> bool:
    """Return whether the beginning of a session says that it changes an earlier decision.

    The session index stores the answer. If this rule changes, increase ``LAYOUT`` in ``store/turns.rs``, so that the
    index is built again.

    >>> announces_change("Amendment to the merge rule from last month.")
    True
    >>> announces_change("Let's change the colour of the button.")
    False
    """
    decided = _DECIDED.search(text)
    return _ANNOUNCES.search(text) is not None or (decided is not None and _BUT.search(text, decided.end()) is not None)


def put_amendments_first(hits: Sequence[SessionHit], announces: Callable[[SessionHit], bool]) -> list[SessionHit]:
    """Move the best hit of an amending session directly above that of the earlier session.

    Args:
        hits: Hits, best first.
        announces: Tells whether what the person said first in the session of a hit announces a change; called for few
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
