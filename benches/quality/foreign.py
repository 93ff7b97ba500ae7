"""Counts the questions about another subject that get an answer: ``python -m benches.quality.foreign --data DIR``.

A store has the messages of DevMemBench or of one conversation of LoCoMo. It is asked questions of its own set, which
have an answer, and questions of the other set, which have none. ``--folder`` adds a model of a folder, once without and
once with the measured scale of its cosines.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import opencode_memory
from opencode_memory.config.load import load
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.embedding.factory import build_embedders

from .data_sets.devmembench import DEVMEMBENCH
from .data_sets.locomo import LOCOMO

if TYPE_CHECKING:
    from opencode_memory.embedding import Embedder
    from opencode_memory.embedding.base import Vector, Vectors

    from .conversations import Conversation

_QUESTIONS: Final = 100
_MESSAGES: Final = 400


class Unmeasured:
    """An embedder whose scale is not measured. Satisfies ``Embedder``."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id = f"{inner.model_id}, not measured"
        self.dimension = inner.dimension

    def chunk(self, text: str) -> list[str]:
        """Cut a text as the other embedder does."""
        return self._inner.chunk(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as the other embedder does."""
        return self._inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed a query as the other embedder does."""
        return self._inner.embed_query(text)


def count_answered(embedder: Embedder, messages: Sequence[str], *asked: Sequence[str]) -> list[int]:
    """Return how many questions of each list get an answer from a store of these messages."""
    with (
        tempfile.TemporaryDirectory() as folder,
        opencode_memory.open(folder, embedder=embedder, background=False) as store,
    ):
        store.remember_many({"content": message} for message in dict.fromkeys(messages))
        store.indexes.embed_pending()
        return [sum(bool(store.recall(question)) for question in questions) for questions in asked]


def draw(conversation: Conversation) -> tuple[list[str], list[str]]:
    """Return messages of a conversation, and some of its questions that have an answer, in an order drawn by lot."""
    questions = [question.text for question in conversation.questions if question.is_answerable]
    random.Random(1).shuffle(questions)
    return [turn.text for turn in conversation.turns[:_MESSAGES]], questions[:_QUESTIONS]


def embedders(folder: Path | None, query_prefix: str, text_prefix: str) -> Iterator[tuple[str, Embedder]]:
    """Yield the bundled model, and the one in a folder without and with its scale."""
    yield "bundled", BundledEmbedder()
    if folder is None:
        return
    given = {"PROVIDER": "folder", "FOLDER": str(folder), "QUERY_PREFIX": query_prefix, "TEXT_PREFIX": text_prefix}
    environment = {"HOME": os.environ["HOME"]}
    environment |= {f"OPENCODE_MEMORY_EMBEDDING_{name}": value for name, value in given.items()}
    own = build_embedders(load(environment=environment).embedding, environment).of_memories
    yield "folder, not measured", Unmeasured(own)
    yield "folder, measured", own


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with DevMemBench and LoCoMo")
    parser.add_argument("--folder", type=Path, help="folder with a model")
    parser.add_argument("--query-prefix", default="", help="text that the model expects in front of a query")
    parser.add_argument("--text-prefix", default="", help="text that the model expects in front of a memory")
    given = parser.parse_args()
    sets = [(one.title, draw(next(iter(one.load(given.data / one.folder))))) for one in (DEVMEMBENCH, LOCOMO)]
    for (title, (messages, own)), (_, (_, foreign)) in zip(sets, reversed(sets), strict=True):
        for name, embedder in embedders(given.folder, given.query_prefix, given.text_prefix):
            found = count_answered(embedder, messages, own, foreign)
            counts = f"own questions {found[0]} of {len(own)}, of the other set {found[1]} of {len(foreign)}"
            print(f"{title}, {name}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
