"""Metrics of a ranking: pure functions of the ranked hits and the evidence.

Evidence is a set of turns, or of sessions if a set names no turns. A hit counts for its turn or for its session. Only
the first hit of a session counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

RECALL_5: Final = "recall@5"
RECALL_10: Final = "recall@10"
ALL_5: Final = "all_evidence@5"
ALL_10: Final = "all_evidence@10"
SESSION_RECALL_10: Final = "session_recall@10"
SESSION_FIRST: Final = "session_first"
SESSION_HIT_5: Final = "session_hit@5"
SESSION_HIT_10: Final = "session_hit@10"
MRR: Final = "mrr"
NDCG_10: Final = "ndcg@10"
METRICS: Final = (
    RECALL_5,
    RECALL_10,
    ALL_5,
    ALL_10,
    SESSION_RECALL_10,
    SESSION_HIT_10,
    SESSION_HIT_5,
    SESSION_FIRST,
    MRR,
    NDCG_10,
)

EMPTY: Final = "empty"
"""Metric of questions without an answer: 1 if the answer was empty."""


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A hit: its turn, its session and its score."""

    turn: str
    session: str
    score: float


def measure(hits: Sequence[RankedTurn], turns: AbstractSet[str], sessions: AbstractSet[str]) -> dict[str, float]:
    """Return each of ``METRICS``, from 0 to 1.

    Metrics of sessions count different sessions, in the order of their first hits.

    Args:
        hits: The answer, best first.
        turns: Ids of the turns that contain the answer; empty to use sessions.
        sessions: Ids of the sessions that contain it, at least one.
    """
    found_sessions = list(dict.fromkeys(hit.session for hit in hits))
    found = [hit.turn for hit in hits] if turns else [hit.session for hit in hits]
    evidence = turns or sessions
    return {
        RECALL_5: recall(found, evidence, 5),
        RECALL_10: recall(found, evidence, 10),
        ALL_5: float(evidence <= set(found[:5])),
        ALL_10: float(evidence <= set(found[:10])),
        SESSION_RECALL_10: recall(found_sessions, sessions, 10),
        SESSION_HIT_10: float(any(session in sessions for session in found_sessions[:10])),
        SESSION_HIT_5: float(any(session in sessions for session in found_sessions[:5])),
        SESSION_FIRST: float(any(session in sessions for session in found_sessions[:1])),
        MRR: reciprocal_rank(found, evidence),
        NDCG_10: ndcg(found, evidence, 10),
    }


def recall(found: Sequence[str], evidence: AbstractSet[str], k: int) -> float:
    """Return the share of the evidence among the first ``k`` hits."""
    return len(evidence & set(found[:k])) / len(evidence)


def reciprocal_rank(found: Sequence[str], evidence: AbstractSet[str]) -> float:
    """Return one divided by the rank of the first evidence; 0 if there is none."""
    return next((1 / rank for rank, one in enumerate(found, 1) if one in evidence), 0.0)


def ndcg(found: Sequence[str], evidence: AbstractSet[str], k: int) -> float:
    """Return the discounted gain of the first ``k`` hits, relative to the ideal order. Each evidence counts 1, once."""
    first_ranks: dict[str, int] = {}
    for rank, one in enumerate(found[:k], 1):
        if one in evidence:
            first_ranks.setdefault(one, rank)
    best = sum(_discounted(rank) for rank in range(1, min(len(evidence), k) + 1))
    return sum(map(_discounted, first_ranks.values())) / best


def _discounted(rank: int) -> float:
    return 1 / math.log2(rank + 1)
