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
from opencode_memory.context.later_words import find_said_later
from opencode_memory.models import Hit, Memory, SessionHit

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_Hit = TypeVar("_Hit", Hit, SessionHit)

_FIRST_PLACES: Final = 3
_LEAST_OF_FIRST: Final = (0.5, 0.5)
_LEAST: Final = (0.65, 0.7)
"""Shares of the best hit's score and relevance, for the first places and behind them. A hit that reaches neither ends
the list. A paraphrase among the first may share no word with the question."""
_FLOOR: Final = 0.2
"""Least relevance behind the first places."""
_WEAK: Final = 0.35
_MOST_WEAK: Final = 5
"""If no hit is more relevant than ``_WEAK``, the list has at most ``_MOST_WEAK`` hits."""
NEAR_MISSES: Final = 3
"""Number of memories that explain an empty answer."""
NOTHING_NEAR: Final = "No memory here shares a word or a meaning with the question."


@dataclass(frozen=True, slots=True)
class Result:
    """A hit for a reader.

    Attributes:
        hit: The hit; its rank counts the results.
        before: Earlier statements on its subject, newest first. They are named, not shown in full.
        later: What the user said later about it, if that is no result itself.
    """

    hit: Hit
    before: tuple[Memory, ...] = ()
    later: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The memory of the hit."""
        return self.hit.memory


def present(
    store: MemoryStore, hits: Sequence[Hit], *, project: str | None = None, whole: bool = False
) -> list[Result]:
    """Arrange the hits of a recall for a reader: end the list where relevance ends, and fold earlier statements.

    Args:
        store: The store of the hits.
        hits: The hits, best first.
        project: The project of the recall.
        whole: Whether to keep the weaker hits.
    """
    folded = fold_hits(hits if whole else cut(hits), store.earlier([hit.memory.id for hit in hits]), others=hits)
    later = find_said_later(store, [hit.memory for hit, _ in folded], project)
    return [
        Result(replace(hit, rank=rank), before, later.get(hit.memory.id))
        for rank, (hit, before) in enumerate(folded, start=1)
    ]


def cut(hits: Sequence[_Hit]) -> list[_Hit]:
    """Return the hits up to the first one that is much weaker than the best."""
    kept: list[_Hit] = []
    is_weak = all(hit.relevance is not None and hit.relevance < _WEAK for hit in hits)
    for place, hit in enumerate(hits[:_MOST_WEAK] if is_weak else hits):
        if not _is_near(hit, hits[0], is_first=place < _FIRST_PLACES):
            break
        kept.append(hit)
    return kept


def _is_near(hit: Hit | SessionHit, best: Hit | SessionHit, *, is_first: bool) -> bool:
    if hit.relevance is None or best.relevance is None:
        return True
    score, relevance = _LEAST_OF_FIRST if is_first else _LEAST
    is_near = hit.score >= score * best.score or hit.relevance >= relevance * best.relevance
    return is_near and (is_first or hit.relevance >= _FLOOR)


def describe_relevance(hit: Hit | SessionHit) -> str:
    """Compare the relevance of a hit with the floor of its answer."""
    if hit.relevance is None or hit.floor is None:
        return "relevance: not judged, it contradicts another hit"
    return f"relevance {hit.relevance:.2f}; the best hit of an answer must reach {hit.floor:.2f}"
