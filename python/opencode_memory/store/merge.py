"""Merges the hits among memories and among turns of sessions into one ranked answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, TypeVar

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Hit, SessionHit, Sources

_Found = TypeVar("_Found", Hit, SessionHit)

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


def merge(memories: Sequence[Hit], turns: Sequence[SessionHit], *, limit: int) -> list[Hit | SessionHit]:
    """Merge two answers by relevance. Each keeps its own order, for which the ranking used more than the relevance.

    A turn of a message that a shown memory was learned from is left out, and so is one with the text of a memory.
    """
    told = {(hit.memory.source.session, hit.memory.source.message) for hit in memories}
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
    return [replace(hit, rank=rank) for rank, hit in enumerate(merged, 1)]


def _with_relevance(hits: Sequence[_Found]) -> list[tuple[float, _Found]]:
    """Give each hit the greatest relevance from it on, so that a weak hit does not hold up the ones below it."""
    greatest = [*accumulate((hit.relevance or 0.0 for hit in reversed(hits)), max)][::-1]
    return list(zip(greatest, hits, strict=True))


def _normal(text: str) -> str:
    return " ".join(text.lower().split())
