"""How good a ranking is: pure functions of the ranked hits and the evidence.

Evidence is turns, or sessions where a set names no more. A hit counts for its turn or, then, for its session; a session
that was hit before counts no second time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

RECALL_5: Final = "recall@5"
RECALL_10: Final = "recall@10"
SESSION_RECALL_10: Final = "session_recall@10"
SESSION_HIT_5: Final = "session_hit@5"
SESSION_HIT_10: Final = "session_hit@10"
MRR: Final = "mrr"
NDCG_10: Final = "ndcg@10"
METRICS: Final = (RECALL_5, RECALL_10, SESSION_RECALL_10, SESSION_HIT_10, SESSION_HIT_5, MRR, NDCG_10)

EMPTY: Final = "empty"
"""Of questions without an answer: 1 if none was given."""


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A hit: the turn that was found, its session, and the score that the recall gave it."""

    turn: str
    session: str
    score: float


def measure(hits: Sequence[RankedTurn], turns: AbstractSet[str], sessions: AbstractSet[str]) -> dict[str, float]:
    """Return each of ``METRICS``, from 0 to 1.

    Figures of sessions are at so many different sessions, in the order in which their first turns were found.

    Args:
        hits: The answer, best first.
        turns: Ids of the turns that hold the answer; empty to go by sessions.
        sessions: Ids of the sessions that hold it, at least one.
    """
    found_sessions = list(dict.fromkeys(hit.session for hit in hits))
    found = [hit.turn for hit in hits] if turns else [hit.session for hit in hits]
    evidence = turns or sessions
    return {
        RECALL_5: recall(found, evidence, 5),
        RECALL_10: recall(found, evidence, 10),
        SESSION_RECALL_10: recall(found_sessions, sessions, 10),
        SESSION_HIT_10: float(any(session in sessions for session in found_sessions[:10])),
        SESSION_HIT_5: float(any(session in sessions for session in found_sessions[:5])),
        MRR: reciprocal_rank(found, evidence),
        NDCG_10: ndcg(found, evidence, 10),
    }


def recall(found: Sequence[str], evidence: AbstractSet[str], k: int) -> float:
    """Return the share of the evidence that is among the first ``k`` found."""
    return len(evidence & set(found[:k])) / len(evidence)


def reciprocal_rank(found: Sequence[str], evidence: AbstractSet[str]) -> float:
    """Return one divided by the rank of the first evidence; 0 when there is none."""
    return next((1 / rank for rank, one in enumerate(found, 1) if one in evidence), 0.0)


def ndcg(found: Sequence[str], evidence: AbstractSet[str], k: int) -> float:
    """Return the discounted gain of the first ``k``, against evidence first; each piece of evidence gains 1, once."""
    first_ranks: dict[str, int] = {}
    for rank, one in enumerate(found[:k], 1):
        if one in evidence:
            first_ranks.setdefault(one, rank)
    best = sum(_discounted(rank) for rank in range(1, min(len(evidence), k) + 1))
    return sum(map(_discounted, first_ranks.values())) / best


def _discounted(rank: int) -> float:
    return 1 / math.log2(rank + 1)
