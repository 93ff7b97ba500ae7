"""Asking a conversation: write it into a store that is thrown away, then ask, all through the public API.

The clock stands at the moment at which the conversation is asked, so that nothing depends on today. Questions are asked
of the store reopened for reading: an answer then leaves no trace (how often a memory was used) that could change the
next one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import opencode_memory

from .cached_embedder import CachedEmbedder
from .conversations import Conversation, DataError, Turn
from .metrics import RankedTurn
from .results import QuestionResult, judged

PROJECT: Final = "quality"
MOST_CHARACTERS: Final = 100_000
"""The longest memory. One message of BEAM-100K is longer, and from there on a drawing made of blanks."""
TIMED_LIMIT: Final = 10
"""Hits of the recall that is timed; judged is a deeper one, whose first hits are the same."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question, judged, and the seconds that its recall took, the query's vector given."""

    result: QuestionResult
    seconds: float


def ask(set_: str, conversation: Conversation, embedder: CachedEmbedder, *, limit: int) -> Iterator[Answered]:
    """Ask a conversation all its questions, in order.

    Args:
        set_: Name of the question set.
        conversation: What to write, and what to ask.
        embedder: Turns texts into vectors.
        limit: Hits of an answer.

    Raises:
        DataError: Two turns became one memory, so that a hit could not be told.
    """
    embedder.prepare(question.text for question in conversation.questions)
    clock_ms = round(conversation.asked_at.timestamp() * 1000)
    with tempfile.TemporaryDirectory(prefix="opencode-memory-quality-") as folder:
        data_dir = Path(folder) / "store"
        turn_of = _written(data_dir, conversation, embedder, clock_ms)
        with opencode_memory.open(
            data_dir, project=PROJECT, embedder=embedder, read_only=True, background=False, clock_ms=clock_ms
        ) as store:
            for question in conversation.questions:
                start = time.perf_counter()
                store.recall(question.text, limit=TIMED_LIMIT)
                seconds = time.perf_counter() - start
                found = store.recall(question.text, limit=limit)
                hits = tuple(
                    RankedTurn(turn_of[hit.memory.id].id, turn_of[hit.memory.id].session, hit.score) for hit in found
                )
                yield Answered(judged(set_, conversation, question, hits), seconds)


def _written(data_dir: Path, conversation: Conversation, embedder: CachedEmbedder, clock_ms: int) -> dict[str, Turn]:
    """Write every turn and embed it; returns the turns by the ids of their memories."""
    with opencode_memory.open(
        data_dir, project=PROJECT, embedder=embedder, background=False, clock_ms=clock_ms
    ) as store:
        written = store.remember_many(
            {
                "content": turn.text[:MOST_CHARACTERS],
                "category": "conversation",
                "session": turn.session,
                "position": turn.position,
                "speaker": turn.speaker,
                "time": turn.time,
            }
            for turn in conversation.turns
        )
        store.indexes.embed_pending()
        store.indexes.catch_up()
    turn_of = {result.id: turn for result, turn in zip(written, conversation.turns, strict=True)}
    if len(turn_of) != len(conversation.turns):
        raise DataError(f"conversation {conversation.id}: two turns of it became one memory")
    return turn_of
