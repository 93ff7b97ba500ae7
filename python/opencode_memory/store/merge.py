"""Merges the hits among memories and among turns of sessions into one ranked answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, TypeVar

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, Hit, SessionHit, Sources

_Found = TypeVar("_Found", Hit, SessionHit)

_ONLY_MEMORIES: Final = ("category", "entity", "tag", "status", "older_than", "pinned", "with_expired")
MEMORIES_FIRST: Final = 0.05
"""Relevance by which a turn must exceed a memory to stand above it, because a memory was chosen and a turn was not."""


def parse_sources(name: str) -> Sources:
    """Return the sources of a name.

    Raises:
        InvalidInputError: There are none of that name.
    """
    if name not in tuple(Sources):
        known = ", ".join(Sources)
        raise InvalidInputError(f"sources: {name!r} is none of {known}", field="sources", limit=known)
    return Sources(name)


def with_turns(sources: str, filters: Mapping[str, Any], *, as_of: object, can_read: bool) -> Sources:
    """Return what a search has to look at: ``ALL`` is narrowed to memories if no turn can pass.

    Args:
        sources: The name of the wanted sources.
        filters: See ``Filter``.
        as_of: A past state of the store, which has no turns; None for the present.
        can_read: Whether the texts of turns can be read.

    Raises:
        InvalidInputError: The name is unknown, or only turns are wanted and none can pass.
    """
    wanted = parse_sources(sources)
    narrows = as_of is not None or any(filters.get(name) for name in _ONLY_MEMORIES)
    if wanted is Sources.SESSIONS and narrows:
        raise InvalidInputError(
            "sources: sessions cannot be filtered by category, entity, tag, status or a past state", field="sources"
        )
    return Sources.MEMORIES if wanted is Sources.ALL and (narrows or not can_read) else wanted


def merge(memories: Sequence[Hit], turns: Sequence[SessionHit], *, limit: int) -> list[Hit | SessionHit]:
    """Merge two answers by relevance. Each keeps its own order, for which the ranking used more than the relevance.

    A turn of a message that a shown memory was learned from is left out, and so is one with the text of a memory. Hits
    keep their ranks.
    """
    # A summary names the newest message of its session, and does not say what that message says.
    learned = [hit.memory.source for hit in memories if hit.memory.category is not Category.CONVERSATION]
    told = {(source.session, source.message) for source in learned}
    texts = {_normal(hit.memory.content) for hit in memories}
    waiting = _with_relevance(list(memories))
    others = _with_relevance(
        [
            hit
            for hit in turns
            if (hit.turn.session, hit.turn.message) not in told and _normal(hit.turn.text) not in texts
        ]
    )
    merged: list[Hit | SessionHit] = []
    while len(merged) < limit and (waiting or others):
        is_memory = not others or (waiting and waiting[0][0] + MEMORIES_FIRST >= others[0][0])
        merged.append((waiting if is_memory else others).pop(0)[1])
    return merged


def _with_relevance(hits: Sequence[_Found]) -> list[tuple[float, _Found]]:
    """Give each hit the greatest relevance from it on, so that a weak hit does not hold up the ones below it."""
    greatest = [*accumulate((hit.relevance or 0.0 for hit in reversed(hits)), max)][::-1]
    return list(zip(greatest, hits, strict=True))


def _normal(text: str) -> str:
    return " ".join(text.lower().split())
