"""zvec: HNSW on int8 codes, its own full-text index, an inverted index on the project, its own RRF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import zvec

from ..data import Memory
from ..vectors import DIMENSION
from .base import CONNECTIVITY, EF_CONSTRUCTION, EF_SEARCH, OPERATIONS, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Query
    from .base import Foreign

FIELDS: Final = ["content", "project", "category", "time_ms"]
WRITE_BATCH: Final = 500


class Engine(Peer):
    """One collection; ``insert`` is zvec's own acknowledgement, which does not wait for the disk."""

    operations = frozenset(OPERATIONS)
    configuration = "HNSW int8, FTS lowercase + stemmer, inverted index on project, RrfReRanker"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._collection: Foreign = None
        zvec.init(log_level=zvec.LogLevel.ERROR, query_threads=1, optimize_threads=1)
        self._reranker = zvec.RrfReRanker()

    def build(self, batches: Iterable[Batch]) -> None:
        collection = zvec.create_and_open(str(self._directory), _schema())
        for batch in batches:
            documents = [_document(m, v) for m, v in zip(batch.memories, batch.vectors, strict=True)]
            for start in range(0, len(documents), WRITE_BATCH):
                _checked(collection.insert(documents[start : start + WRITE_BATCH]))
        collection.optimize(zvec.OptimizeOption(concurrency=1))
        collection.close()

    def open(self) -> None:
        self._collection = zvec.open(str(self._directory))

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._found(_near(query), k)

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        return self._found(_near(query), k, filter=_in_project(query))

    def lexical(self, query: Query, k: int) -> list[Memory]:
        return self._found(_worded(query), k)

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        return self._found([_near(query), _worded(query)], k, reranker=self._reranker)

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        return self._found([_near(query), _worded(query)], k, reranker=self._reranker, filter=_in_project(query))

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        _checked([self._collection.insert(_document(memory, vector))])

    def close(self) -> None:
        self._collection.close()

    def _found(self, queries: Foreign, k: int, **options: Foreign) -> list[Memory]:
        documents = self._collection.query(queries, topk=k, output_fields=FIELDS, **options)
        return [Memory(int(d.id), *(d.fields[name] for name in FIELDS)) for d in documents]


def _schema() -> Foreign:
    text, number = zvec.DataType.STRING, zvec.DataType.INT64
    graph = zvec.HnswIndexParam(
        metric_type=zvec.MetricType.COSINE,
        m=CONNECTIVITY,
        ef_construction=EF_CONSTRUCTION,
        quantize_type=zvec.QuantizeType.INT8,
    )
    return zvec.CollectionSchema(
        name="memories",
        fields=[
            zvec.FieldSchema("content", text, index_param=zvec.FtsIndexParam(filters=["lowercase", "stemmer"])),
            zvec.FieldSchema("project", text, index_param=zvec.InvertIndexParam()),
            zvec.FieldSchema("category", text),
            zvec.FieldSchema("time_ms", number),
        ],
        vectors=[zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, DIMENSION, graph)],
    )


def _document(memory: Memory, vector: NDArray[np.float32]) -> Foreign:
    fields = {
        "content": memory.content,
        "project": memory.project,
        "category": memory.category,
        "time_ms": memory.time_ms,
    }
    return zvec.Doc(id=str(memory.row), vectors={"vector": vector}, fields=fields)


def _checked(statuses: Iterable[Foreign]) -> None:
    for status in statuses:
        if not status.ok():
            message = f"zvec refused a document: {status}"
            raise RuntimeError(message)


def _near(query: Query) -> Foreign:
    return zvec.Query("vector", vector=query.vector, param=zvec.HnswQueryParam(ef=EF_SEARCH))


def _worded(query: Query) -> Foreign:
    return zvec.Query("content", fts=zvec.Fts(match_string=query.text))


def _in_project(query: Query) -> str:
    return f"project = '{query.project}'"
