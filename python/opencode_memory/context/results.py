"""Results of a recall as a reader gets them.

The list ends where relevance ends, instead of filling up to the limit: a model would take weak hits for answers. The
newest statement of a subject comes first, and earlier ones are folded into it. ``MemoryStore.recall`` itself keeps its
limit. docs/quality.md has the share of right hits that the end of the list costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from opencode_memory.context.folding import fold_hits
from opencode_memory.models import Hit, Memory, SessionHit

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_Hit = TypeVar("_Hit", Hit, SessionHit)

LEAST_SCORE: Final = 0.65
LEAST_RELEVANCE: Final = 0.7
"""Shares of the best hit's score and relevance. A hit that reaches neither ends the list."""
_SURE_PLACES: Final = 3
_FLOOR: Final = 0.2
"""Least relevance behind the first places. A paraphrase among the first may share no word with the question."""
NEAR_MISSES: Final = 3
"""Number of memories that explain an empty answer."""
NOTHING_NEAR: Final = "No memory here shares a word or a meaning with the question."


@dataclass(frozen=True, slots=True)
class Result:
    """A hit for a reader.

    Attributes:
        hit: The hit; its rank counts the results.
        before: Earlier statements on its subject, newest first. They are named, not shown in full.
    """

    hit: Hit
    before: tuple[Memory, ...] = ()

    @property
    def memory(self) -> Memory:
        """The memory of the hit."""
        return self.hit.memory


def present(store: MemoryStore, hits: Sequence[Hit], *, whole: bool = False) -> list[Result]:
    """Arrange the hits of a recall for a reader: end the list where relevance ends, and fold earlier statements.

    Args:
        store: The store of the hits.
        hits: The hits, best first.
        whole: Whether to keep the weaker hits.
    """
    folded = fold_hits(hits if whole else cut(hits), store.earlier([hit.memory.id for hit in hits]), others=hits)
    return [Result(replace(hit, rank=rank), before) for rank, (hit, before) in enumerate(folded, start=1)]


def cut(hits: Sequence[_Hit]) -> list[_Hit]:
    """Return the hits up to the first one that is much weaker than the best."""
    kept: list[_Hit] = []
    for place, hit in enumerate(hits):
        if hit.relevance is not None and hits[0].relevance is not None:
            is_near = hit.score >= LEAST_SCORE * hits[0].score or hit.relevance >= LEAST_RELEVANCE * hits[0].relevance
            if not is_near or (place >= _SURE_PLACES and hit.relevance < _FLOOR):
                break
        kept.append(hit)
    return kept


def describe_relevance(hit: Hit | SessionHit) -> str:
    """Compare the relevance of a hit with the floor of its answer."""
    if hit.relevance is None or hit.floor is None:
        return "relevance: not judged, it contradicts another hit"
    return f"relevance {hit.relevance:.2f}; the best hit of an answer must reach {hit.floor:.2f}"
