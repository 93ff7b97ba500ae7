"""Decides whether shown memories were useful: used by the agent, or contradicted.

The decision uses the agent's texts and tool calls after the block was shown. It needs no model and is cautious: a
memory that was followed silently counts as neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from opencode_memory.context.headline import ID_CHARACTERS
from opencode_memory.models import Hit
from opencode_memory.store.ledger import Usefulness

_LEAST_TERMS: Final = 2
_SHARE: Final = 0.5
_TRIED: Final = 3
_BOUND: Final = 0.15
_PLACES: Final = 7
"""How close neighbours are: with this, what was most useful moves up by one place, rarely by two."""
_WORD: Final = re.compile(r"[A-Za-z0-9_./:@-]{3,}")
_COMMON: Final = re.compile(
    r"about|after|again|all|also|and|any|are|because|been|before|being|but|can|could|did|does|doing|done"
    r"|each|every|for|from|get|got|had|has|have|here|how|into|its|just|like|make|may|more|most|must|need"
    r"|never|new|not|now|off|one|only|other|our|out|over|own|project|run|same|see|should|some|such|than"
    r"|that|the|their|them|then|there|these|they|this|those|through|time|under|use|used|user|uses|using"
    r"|very|want|was|were|what|when|where|which|while|who|why|will|with|would|you|your|always|file|files"
    r"|code|test|tests"
)


def terms(text: str) -> frozenset[str]:
    """Return the words of a text that tell it from other texts."""
    words = (word.strip(".:/-").lower() for word in _WORD.findall(text))
    return frozenset(word for word in words if len(word) > 2 and not _COMMON.fullmatch(word))  # noqa: PLR2004  of, in, by


def is_taken_up(content: str, *, id: str, asked: str, done: str) -> bool:
    """Return whether an agent used a memory.

    Args:
        content: The text of the memory.
        id: Its id.
        asked: The user's text, whose words the agent may have from there.
        done: The agent's texts and tool calls.
    """
    if id[-ID_CHARACTERS:] in done:
        return True
    own = terms(content) - terms(asked)
    taken = own & terms(done)
    return len(taken) >= _LEAST_TERMS and len(taken) >= _SHARE * len(own)


def rank_by_usefulness(found: Sequence[tuple[Hit, str]], usefulness: Mapping[str, Usefulness]) -> list[tuple[Hit, str]]:
    """Order hits, best first, with a small and bounded weight for their earlier usefulness.

    A memory that was contradicted more often than used is left out.
    """
    ranked = [
        (_factor(usefulness.get(hit.memory.id)) / (place + _PLACES), (hit, reason))
        for place, (hit, reason) in enumerate(found)
    ]
    ranked.sort(key=lambda pair: -pair[0])
    return [(hit, reason) for _, (hit, reason) in ranked if not is_wrong(usefulness.get(hit.memory.id))]


def _factor(known: Usefulness | None) -> float:
    if known is None or not known.shown:
        return 1.0
    # Smoothed, so that one showing has little weight.
    rate = (known.used - 2 * known.contradicted) / (known.shown + _TRIED)
    return 1.0 + max(-_BOUND, min(_BOUND, _BOUND * (2 * rate - (0.5 if known.shown > _TRIED and rate <= 0 else 0.0))))


def is_wrong(known: Usefulness | None) -> bool:
    """Return whether a memory was contradicted more often than used, and at least twice."""
    return known is not None and known.contradicted >= 2 and known.contradicted > known.used  # noqa: PLR2004  twice is no slip
