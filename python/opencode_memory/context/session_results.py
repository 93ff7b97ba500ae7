"""Results of a search of memories and sessions as a reader gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opencode_memory.context.results import Result, cut, present
from opencode_memory.models import Hit, SessionHit, Turn
from opencode_memory.store.merge import merge

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


def present_all(
    store: MemoryStore, hits: Sequence[Hit | SessionHit], *, project: str | None = None, whole: bool = False
) -> list[Result | SessionHit]:
    """Arrange the hits of a search for a reader: memories as ``present`` does, with the turns among them.

    The ranks count the results of both kinds.

    Args:
        store: The store of the hits.
        hits: The hits, best first.
        project: The project of the search.
        whole: Whether to keep the weaker hits.
    """
    found = [hit for hit in hits if isinstance(hit, Hit)]
    memories = {result.memory.id: result for result in present(store, found, project=project, whole=whole)}
    turns = [hit for hit in hits if isinstance(hit, SessionHit)]
    shown = turns if whole else cut(turns)
    merged = merge([result.hit for result in memories.values()], shown, limit=max(len(hits), 1))
    ranked = (replace(hit, rank=rank) for rank, hit in enumerate(merged, start=1))
    return [hit if isinstance(hit, SessionHit) else replace(memories[hit.memory.id], hit=hit) for hit in ranked]


def turn_data(turn: Turn) -> dict[str, Any]:
    """Return the fields of a turn for programs."""
    return {
        "source": "session",
        "session": turn.session,
        "message": turn.message,
        "title": turn.title,
        "speaker": turn.speaker,
        "time": turn.time,
        "project": turn.project,
        "text": turn.text,
    }
