"""sqlite-vec and FTS5 in one SQLite file: exact vectors partitioned by project, BM25 with the project as a column.

Driven through apsw, because a Python may be built without loadable extensions; apsw also brings a current SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw
import sqlite_vec

from ..data import Memory
from ..vectors import DIMENSION
from .base import FUSION_DEPTH, OPERATIONS, Peer, fused

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Query
    from .base import Foreign

SCHEMA: Final = f"""
CREATE TABLE memory (row INTEGER PRIMARY KEY, content TEXT, project TEXT, category TEXT, time_ms INTEGER);
CREATE VIRTUAL TABLE vector USING vec0(
    row INTEGER PRIMARY KEY, project TEXT PARTITION KEY, embedding FLOAT[{DIMENSION}] DISTANCE_METRIC=cosine,
    chunk_size=256);
CREATE VIRTUAL TABLE word USING fts5(
    content, project, content='memory', content_rowid='row', tokenize='porter unicode61');
"""
HYDRATE: Final = (
    "SELECT row, content, project, category, time_ms FROM memory WHERE row IN (SELECT value FROM json_each(?))"
)
# Only the content is scored: the project's own rarity must not move a memory.
BY_WORDS: Final = "SELECT rowid FROM word WHERE word MATCH ? AND rank MATCH 'bm25(1.0, 0.0)' ORDER BY rank LIMIT ?"
BY_VECTOR: Final = "SELECT row FROM vector WHERE embedding MATCH ? AND k = ?"
BY_VECTOR_IN_PROJECT: Final = f"{BY_VECTOR} AND project = ?"
# Chunks and pages are not of the default size, because that was measured to be faster: a chunk belongs to one partition
# and most projects are small, and vectors are read as blobs far longer than 4 KiB.
SETTINGS: Final = "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"


class Engine(Peer):
    """One database, WAL, ``synchronous=FULL``; the project is pushed down into both virtual tables."""

    operations = frozenset(OPERATIONS)
    configuration = "vec0 f32 exact, project as partition key; FTS5 porter; WAL, FULL, 16 KiB pages; RRF by the caller"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._connection: Foreign = None

    def build(self, batches: Iterable[Batch]) -> None:
        self._directory.mkdir(parents=True)
        self.open()
        self._connection.execute(SCHEMA)
        with self._connection:
            for batch in batches:
                self._add(batch.memories, batch.vectors)
            self._connection.execute("INSERT INTO word(word) VALUES ('optimize')")
        self.close()

    def open(self) -> None:
        self._connection = apsw.Connection(str(self._directory / "store.db"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.execute(SETTINGS)

    def vector(self, query: Query, k: int) -> list[Memory]:
        return self._hydrated(self._nearest(query, k))

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        return self._hydrated(self._nearest(query, k, project=query.project))

    def lexical(self, query: Query, k: int) -> list[Memory]:
        return self._hydrated(self._worded(query, k))

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        rankings = self._nearest(query, FUSION_DEPTH), self._worded(query, FUSION_DEPTH)
        return self._hydrated(fused(rankings, k))

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        by_vector = self._nearest(query, FUSION_DEPTH, project=query.project)
        by_words = self._worded(query, FUSION_DEPTH, project=query.project)
        return self._hydrated(fused((by_vector, by_words), k))

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        with self._connection:
            self._add([memory], vector[None, :])

    def close(self) -> None:
        self._connection.close()

    def _add(self, memories: list[Memory], vectors: NDArray[np.float32]) -> None:
        run = self._connection.executemany
        rows = [(m.row, m.content, m.project, m.category, m.time_ms) for m in memories]
        run("INSERT INTO memory VALUES (?, ?, ?, ?, ?)", rows)
        run("INSERT INTO word (rowid, content, project) VALUES (?, ?, ?)", [row[:3] for row in rows])
        run(
            "INSERT INTO vector (row, project, embedding) VALUES (?, ?, ?)",
            ((m.row, m.project, vector.tobytes()) for m, vector in zip(memories, vectors, strict=True)),
        )

    def _nearest(self, query: Query, k: int, project: str | None = None) -> list[int]:
        blob = query.vector.tobytes()
        if project is None:
            return [row for (row,) in self._connection.execute(BY_VECTOR, (blob, k))]
        return [row for (row,) in self._connection.execute(BY_VECTOR_IN_PROJECT, (blob, k, project))]

    def _worded(self, query: Query, k: int, project: str | None = None) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in query.text.replace('"', " ").split())
        expression = f"content : ({words})" if project is None else f'(content : ({words})) AND (project : "{project}")'
        return [row for (row,) in self._connection.execute(BY_WORDS, (expression, k))]

    def _hydrated(self, rows: list[int]) -> list[Memory]:
        found = {values[0]: Memory(*values) for values in self._connection.execute(HYDRATE, (str(rows),))}
        return [found[row] for row in rows]
