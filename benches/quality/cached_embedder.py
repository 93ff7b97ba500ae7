"""Caches the vectors of another embedder in a file, so that a second run takes seconds.

The key of a vector is the model's id, which includes the hash of the model file, and the hash of the text. Chunks are
not cached, because the embedder may change how it cuts texts. Each text goes through the model alone, because the last
bits of a vector depend on the batch. Therefore results are the same with a full, a partial or no cache file.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import numpy.typing as npt

from benches.arrays import to_buffer

if TYPE_CHECKING:
    from opencode_memory.embedding import Embedder
    from opencode_memory.embedding.base import Vector, Vectors

_Array = npt.NDArray[np.float32]

_TEXT: Final = b"text\0"
_QUERY: Final = b"query\0"
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS vector (model TEXT, hash BLOB, value BLOB, PRIMARY KEY (model, hash))"
_COMMIT_EVERY: Final = 100
"""Number of vectors that an interrupted run may lose."""


class CachedEmbedder:
    """Returns the vectors of ``inner``, from the file if possible. Satisfies ``Embedder``. Not thread-safe."""

    def __init__(self, inner: Embedder, file: sqlite3.Connection) -> None:
        self._inner = inner
        self._file = file
        self.computed = 0
        self._queries: dict[str, _Array] = {}

    @classmethod
    @contextmanager
    def open(cls, inner: Embedder, path: Path | None) -> Iterator[Self]:
        """Use the file at ``path`` and create it if it does not exist; None keeps vectors in memory only."""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(":memory:" if path is None else path)
        try:
            file.execute(_SCHEMA)
            yield cls(inner, file)
        finally:
            file.commit()
            file.close()

    @property
    def model_id(self) -> str:
        """Name of the model and hash of its file."""
        return self._inner.model_id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._inner.dimension

    def chunk(self, text: str) -> list[str]:
        """Cut a text as ``inner`` does."""
        return self._inner.chunk(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of length 1, shape (number of texts, dimension)."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(_TEXT, text)
        return to_buffer(vectors)

    def embed_query(self, text: str) -> Vector:
        """Return a float32 vector of length 1, shape (dimension,)."""
        vector = self._queries.get(text)
        return to_buffer(self._vector(_QUERY, text) if vector is None else vector)

    def prepare(self, queries: Iterable[str]) -> None:
        """Embed queries in advance, so that a timed recall waits neither for the model nor for a file."""
        self._queries = {query: self._vector(_QUERY, query) for query in queries}

    def _vector(self, kind: bytes, text: str) -> _Array:
        key = hashlib.blake2b(kind + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        vector = self._read(key)
        if vector is None:
            inner = self._inner.embed([text]) if kind == _TEXT else self._inner.embed_query(text)
            vector = np.asarray(inner).reshape(-1)
            self._write(key, vector)
        return vector

    def _read(self, key: bytes) -> _Array | None:
        query = "SELECT value FROM vector WHERE model = ? AND hash = ?"
        row = self._file.execute(query, (self.model_id, key)).fetchone()
        return None if row is None else np.frombuffer(row[0], "<f4").astype(np.float32)

    def _write(self, key: bytes, vector: _Array) -> None:
        value = vector.astype("<f4").tobytes()
        self._file.execute("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", (self.model_id, key, value))
        self.computed += 1
        if self.computed % _COMMIT_EVERY == 0:
            self._file.commit()
