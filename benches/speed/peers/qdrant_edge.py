"""Qdrant Edge: HNSW f32, BM25 over a scored text index, the project as a tenant index, its own RRF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import qdrant_edge as qdrant

from ..data import Memory
from ..vectors import DIMENSION
from .base import CONNECTIVITY, EF_CONSTRUCTION, EF_SEARCH, FUSION_DEPTH, OPERATIONS, RRF_K, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Query
    from .base import Foreign

VECTOR: Final = "meaning"
FIELDS: Final = ("content", "project", "category", "time_ms")
SEARCH: Final = qdrant.SearchParams(hnsw_ef=EF_SEARCH)
# Qdrant's own defaults, in KB of vectors: smaller segments, and smaller sets behind a filter, are scanned exactly.
SCAN_BELOW: Final = 10_000
WRITE_BATCH: Final = 500


class Engine(Peer):
    """One shard, optimised into one segment; an update is acknowledged when it is in the write-ahead log."""

    operations = frozenset(OPERATIONS)
    configuration = "HNSW f32, scored text index (English stemmer), keyword index as tenant, Fusion.Rrf"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._shard: Foreign = None

    def build(self, batches: Iterable[Batch]) -> None:
        self._directory.mkdir(parents=True)
        shard = qdrant.EdgeShard.create(str(self._directory), _configuration())
        stemmer = qdrant.SnowballParams(qdrant.SnowballLanguage.English)
        text_index = qdrant.TextIndexParams(
            tokenizer=qdrant.TokenizerType.Word, lowercase=True, stemmer=stemmer, scoring=True
        )
        shard.update(qdrant.UpdateOperation.create_field_index("content", text_index))
        shard.update(qdrant.UpdateOperation.create_field_index("project", qdrant.KeywordIndexParams(is_tenant=True)))
        for batch in batches:
            points = [_point(m, v) for m, v in zip(batch.memories, batch.vectors, strict=True)]
            for start in range(0, len(points), WRITE_BATCH):
                shard.update(qdrant.UpdateOperation.upsert_points(points[start : start + WRITE_BATCH]))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self) -> None:
        self._shard = qdrant.EdgeShard.load(str(self._directory))

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._found(k, query=_near(query), params=SEARCH)

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        return self._found(k, query=_near(query), params=SEARCH, filter=_in_project(query))

    def lexical(self, query: Query, k: int) -> list[Memory]:
        return self._found(k, query=qdrant.TextQuery("content", query.text))

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        return self._fused(query, k, within=None)

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        return self._fused(query, k, within=_in_project(query))

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        self._shard.update(qdrant.UpdateOperation.upsert_points([_point(memory, vector)]))

    def close(self) -> None:
        self._shard.close()

    def _fused(self, query: Query, k: int, within: Foreign) -> list[Memory]:
        prefetches = [
            qdrant.Prefetch(FUSION_DEPTH, query=_near(query), params=SEARCH, filter=within),
            qdrant.Prefetch(FUSION_DEPTH, query=qdrant.TextQuery("content", query.text), filter=within),
        ]
        return self._found(k, query=qdrant.Fusion.Rrf(k=RRF_K), prefetches=prefetches)

    def _found(self, k: int, **options: Foreign) -> list[Memory]:
        points = self._shard.query(qdrant.QueryRequest(limit=k, with_payload=True, **options))
        return [Memory(point.id, *(point.payload[name] for name in FIELDS)) for point in points]


def _configuration() -> Foreign:
    graph = qdrant.HnswIndexConfig(m=CONNECTIVITY, ef_construct=EF_CONSTRUCTION, full_scan_threshold=SCAN_BELOW)
    return qdrant.EdgeConfig(
        vectors={VECTOR: qdrant.EdgeVectorParams(size=DIMENSION, distance=qdrant.Distance.Cosine, hnsw_config=graph)},
        optimizers=qdrant.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=SCAN_BELOW),
        max_search_threads=1,
    )


def _point(memory: Memory, vector: NDArray[np.float32]) -> Foreign:
    payload = {
        "content": memory.content,
        "project": memory.project,
        "category": memory.category,
        "time_ms": memory.time_ms,
    }
    return qdrant.Point(memory.row, {VECTOR: vector.tolist()}, payload)


def _near(query: Query) -> Foreign:
    return qdrant.Query.Nearest(query.vector.tolist(), using=VECTOR)


def _in_project(query: Query) -> Foreign:
    return qdrant.Filter(must=[qdrant.FieldCondition("project", match=qdrant.MatchValue(query.project))])
