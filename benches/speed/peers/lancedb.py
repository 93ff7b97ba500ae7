"""LanceDB: HNSW with scalar quantisation, its own full-text index, a bitmap on the project, its own RRF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import lancedb
import pyarrow as pa
from lancedb.index import FTS, Bitmap, HnswSq
from lancedb.rerankers import RRFReranker

from ..data import Memory
from ..vectors import DIMENSION
from .base import CONNECTIVITY, EF_CONSTRUCTION, EF_SEARCH, OPERATIONS, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Query
    from .base import Foreign

TABLE: Final = "memories"
COLUMNS: Final = ["row", "content", "project", "category", "time_ms"]
SCHEMA: Final = pa.schema(
    [
        ("row", pa.int64()),
        ("content", pa.string()),
        ("project", pa.string()),
        ("category", pa.string()),
        ("time_ms", pa.int64()),
        ("vector", pa.list_(pa.float32(), DIMENSION)),
    ]
)


class Engine(Peer):
    """One table; ``num_partitions=1`` is what LanceDB recommends for HNSW on tables of these sizes."""

    operations = frozenset(OPERATIONS)
    configuration = "IVF_HNSW_SQ, one partition, FTS, bitmap on project, prefilter, RRFReranker"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._table: Foreign = None
        self._reranker = RRFReranker()

    def build(self, batches: Iterable[Batch]) -> None:
        table = lancedb.connect(self._directory).create_table(TABLE, schema=SCHEMA)
        table.add(pa.RecordBatchReader.from_batches(SCHEMA, _record_batches(batches)))
        table.create_index(
            "vector",
            config=HnswSq(distance_type="cosine", num_partitions=1, m=CONNECTIVITY, ef_construction=EF_CONSTRUCTION),
        )
        table.create_index("content", config=FTS())
        table.create_index("project", config=Bitmap())
        table.optimize()

    def open(self) -> None:
        self._table = lancedb.connect(self._directory).open_table(TABLE)

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._found(self._nearest(query).select([*COLUMNS, "_distance"]), k)

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        search = self._nearest(query).where(_in_project(query), prefilter=True)
        return self._found(search.select([*COLUMNS, "_distance"]), k)

    def lexical(self, query: Query, k: int) -> list[Memory]:
        return self._found(self._table.search(query.text, query_type="fts").select([*COLUMNS, "_score"]), k)

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        return self._found(self._both(query), k)

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        return self._found(self._both(query).where(_in_project(query), prefilter=True), k)

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        row = dict(zip(COLUMNS, _values(memory), strict=True))
        self._table.add([{**row, "vector": vector}])

    def close(self) -> None:
        self._table = None

    def _nearest(self, query: Query) -> Foreign:
        return self._table.search(query.vector).distance_type("cosine").ef(EF_SEARCH)

    def _both(self, query: Query) -> Foreign:
        search = self._table.search(query_type="hybrid").vector(query.vector).text(query.text)
        # Each half drops the other's score column with a warning; the harness sets LANCEDB_LOG=error.
        return search.distance_type("cosine").ef(EF_SEARCH).rerank(self._reranker).select(COLUMNS)

    def _found(self, search: Foreign, k: int) -> list[Memory]:
        return [Memory(*(row[name] for name in COLUMNS)) for row in search.limit(k).to_list()]


def _in_project(query: Query) -> str:
    return f"project = '{query.project}'"


def _values(memory: Memory) -> tuple[int, str, str, str, int]:
    return memory.row, memory.content, memory.project, memory.category, memory.time_ms


def _record_batches(batches: Iterable[Batch]) -> Iterator[Foreign]:
    for batch in batches:
        columns = [pa.array(column) for column in zip(*map(_values, batch.memories), strict=True)]
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(batch.vectors.ravel()), DIMENSION)
        yield pa.record_batch([*columns, vectors], schema=SCHEMA)
