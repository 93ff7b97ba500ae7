"""opencode-memory, through its public Python API only, with vectors given by an embedder that looks them up.

The API has one kind of search, ``recall``, which is always hybrid. The parts are measured in ways that any user has: a
word that no memory contains leaves only the vectors; a store opened with another model answers by words until
``reindex``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import opencode_memory
from opencode_memory.embedding import find_model
from opencode_memory.models import ALL_PROJECTS, NewMemory

from ..data import Memory
from ..embedders import PrecomputedEmbedder
from .base import OPERATIONS, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from opencode_memory.models import Hit

    from ..data import Batch, Query


class Engine(Peer):
    """One store; ``insert`` is ``remember``, acknowledged by a synced commit, and embedded later as always."""

    operations = frozenset(OPERATIONS)
    configuration = "as installed; embedder replaced by a lookup"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Under the bundled model's id, so that the command line can search the same store.
        self._embedder = PrecomputedEmbedder(find_model().model_id)
        self._words_only: opencode_memory.MemoryStore | None = None

    def build(self, batches: Iterable[Batch]) -> None:
        with opencode_memory.open(self._directory, embedder=self._embedder) as store:
            for batch in batches:
                self._embedder.give((m.content for m in batch.memories), batch.vectors)
                store.remember_many(map(_new, batch.memories))
                store.indexes.embed_pending()
                self._embedder.forget()
            # As the peers' builds do. Otherwise the number of vectors outside of the graph depends on chance.
            store.indexes.catch_up()

    def open(self) -> None:
        self._store = opencode_memory.open(self._directory, embedder=self._embedder)

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._by_vector(query, k, project=ALL_PROJECTS)

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        return self._by_vector(query, k, project=query.project)

    def lexical(self, query: Query, k: int) -> list[Memory]:
        if self._words_only is None:
            other_model = PrecomputedEmbedder("another-model")
            self._words_only = opencode_memory.open(self._directory, embedder=other_model, read_only=True)
        return _found(self._words_only.recall(query.text, limit=k, project=ALL_PROJECTS))

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        self._embedder.give([query.text], [query.vector])
        return _found(self._store.recall(query.text, limit=k, project=ALL_PROJECTS))

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        self._embedder.give([query.text], [query.vector])
        return _found(self._store.recall(query.text, limit=k, project=query.project))

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        self._embedder.give([memory.content], [vector])
        self._store.remember(
            memory.content,
            category=memory.category,
            project=memory.project,
            time=memory.time_ms,
            metadata={"row": memory.row},
        )

    def close(self) -> None:
        self._store.close()
        if self._words_only is not None:
            self._words_only.close()

    def _by_vector(self, query: Query, k: int, project: str) -> list[Memory]:
        word = unknown_word(query)
        self._embedder.give([word], [query.vector])
        return _found(self._store.recall(word, limit=k, project=project))


def unknown_word(query: Query) -> str:
    """Return a word of letters only that no text contains, one for each query."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in str(query.number))
    return f"zqx{letters}zqx{query.project}"


def _new(memory: Memory) -> NewMemory:
    return NewMemory(
        content=memory.content,
        category=memory.category,
        project=memory.project,
        time=memory.time_ms,
        metadata={"row": memory.row},
    )


def _found(hits: Sequence[Hit]) -> list[Memory]:
    return [
        Memory(
            hit.memory.metadata["row"],
            hit.memory.content,
            hit.memory.project or "",
            hit.memory.category,
            int(hit.memory.time.timestamp() * 1000),
        )
        for hit in hits
    ]
