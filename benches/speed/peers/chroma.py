"""Chroma, embedded: HNSW and metadata filters; the local edition has no ranked full-text search, hence no hybrid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import chromadb
from chromadb.config import Settings

from ..data import Memory
from .base import CONNECTIVITY, EF_CONSTRUCTION, EF_SEARCH, Operation, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Query
    from .base import Foreign

COLLECTION: Final = "memories"
CONFIGURATION: Final = {
    "hnsw": {
        "space": "cosine",
        "max_neighbors": CONNECTIVITY,
        "ef_construction": EF_CONSTRUCTION,
        "ef_search": EF_SEARCH,
        "num_threads": 1,
    }
}


class Engine(Peer):
    """One collection, embeddings given."""

    operations: frozenset[Operation] = frozenset({"vector", "vector_filtered"})
    configuration = "PersistentClient, HNSW f32, metadata filter"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._client: Foreign = None
        self._collection: Foreign = None

    def build(self, batches: Iterable[Batch]) -> None:
        client = self._connect()
        collection = client.create_collection(COLLECTION, embedding_function=None, configuration=CONFIGURATION)
        size = client.get_max_batch_size()
        for batch in batches:
            for start in range(0, len(batch.memories), size):
                _add(collection, batch.memories[start : start + size], batch.vectors[start : start + size])
        client.close()

    def open(self) -> None:
        self._client = self._connect()
        self._collection = self._client.get_collection(COLLECTION, embedding_function=None)

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._nearest(query, k, where=None)

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        return self._nearest(query, k, where={"project": query.project})

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        _add(self._collection, [memory], vector[None, :])

    def close(self) -> None:
        self._client.close()

    def _connect(self) -> Foreign:
        return chromadb.PersistentClient(path=str(self._directory), settings=Settings(anonymized_telemetry=False))

    def _nearest(self, query: Query, k: int, where: dict[str, str] | None) -> list[Memory]:
        answer = self._collection.query(
            query_embeddings=query.vector[None, :], n_results=k, where=where, include=["documents", "metadatas"]
        )
        return [
            Memory(int(row), content, metadata["project"], metadata["category"], metadata["time_ms"])
            for row, content, metadata in zip(
                answer["ids"][0], answer["documents"][0], answer["metadatas"][0], strict=True
            )
        ]


def _add(collection: Foreign, memories: list[Memory], vectors: NDArray[np.float32]) -> None:
    collection.add(
        ids=[str(m.row) for m in memories],
        embeddings=vectors,
        documents=[m.content for m in memories],
        metadatas=[{"project": m.project, "category": m.category, "time_ms": m.time_ms} for m in memories],
    )
