"""Embedders without cost, so that a benchmark measures the engine and not the model."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from benches.arrays import to_buffer

from .vectors import DIMENSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from opencode_memory.embedding.base import Vector, Vectors


class PrecomputedEmbedder:
    """Looks vectors up by their text. An unknown text is an error of the harness and raises ``KeyError``."""

    dimension = DIMENSION

    def __init__(self, model_id: str) -> None:
        """Start empty; ``model_id`` is what the store remembers its vectors by."""
        self.model_id = model_id
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def give(self, texts: Iterable[str], vectors: Iterable[NDArray[np.float32]]) -> None:
        """Add vectors, each float32 (384,), by their text."""
        self._vectors.update(zip(texts, vectors, strict=True))

    def forget(self) -> None:
        """Drop all vectors, to limit memory during a long build."""
        self._vectors.clear()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of ``texts``, (len(texts), 384)."""
        return to_buffer(np.stack([self._vectors[text] for text in texts]))

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, (384,)."""
        return to_buffer(self._vectors[text])

    def chunk(self, text: str) -> list[str]:
        """Return the text whole: every text of the benchmark fits."""
        return [text]


class HashedEmbedder:
    """Derives a vector from each text alone. The vectors have no meaning but always exist."""

    model_id = "hashed"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, (len(texts), 384)."""
        return to_buffer(np.stack([self.embed_query(text) for text in texts]))

    def embed_query(self, text: str) -> Vector:
        """Return a unit vector, (384,)."""
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        vector = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
        return to_buffer(vector / np.linalg.norm(vector))

    def chunk(self, text: str) -> list[str]:
        """Return the text whole."""
        return [text]
