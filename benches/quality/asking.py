"""Asks the questions of a conversation: writes its turns into a temporary store, then recalls through the public API.

The clock is fixed at the time of the questions, so that results do not depend on the current date. The store is opened
read-only for the questions. Otherwise an answer would count as a use of its memories and change the next answer.
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
"""Maximum length of a memory. One message of BEAM-100K is longer; the part beyond this limit is a drawing of blanks."""
TIMED_LIMIT: Final = 10
"""Number of hits of the timed recall. The judged recall is deeper and begins with the same hits."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Judged answer to a question, and the seconds of its recall with a given query vector."""

    result: QuestionResult
    seconds: float


def ask(set_: str, conversation: Conversation, embedder: CachedEmbedder, *, limit: int) -> Iterator[Answered]:
    """Ask all questions of a conversation, in order.

    Args:
        set_: Name of the question set.
        conversation: The turns to write and the questions to ask.
        embedder: Turns texts into vectors.
        limit: Number of hits of an answer.

    Raises:
        DataError: Two turns were merged into one memory, so a hit cannot be assigned to a turn.
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
    """Write and embed every turn. Return the turns by the ids of their memories."""
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
