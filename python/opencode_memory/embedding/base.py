"""Protocol of an embedder, independent of the model behind it.

An embedder turns texts into vectors of length 1 whose dot product says how close two texts are in meaning. Its
``model_id`` is stamped beside every vector that is stored: vectors of different ids are never compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Vectors: TypeAlias = "memoryview[float]"
"""Vectors of 32-bit floats, one row for each. Without rows it has one dimension, because it cannot have two then.

The engine takes any buffer of this form, for example an array of numpy.
"""
Vector: TypeAlias = "memoryview[float]"
"""A vector of 32-bit floats, with one dimension."""
QueryVector: TypeAlias = "tuple[str, Vector]"
"""The name of a model, and the vector that it made of a query."""


class Embedder(Protocol):
    """Turns texts into vectors; every method may be called from several threads at once."""

    @property
    def model_id(self) -> str:
        """Name and version of the model; changes exactly when vectors stop being comparable."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def chunk(self, text: str) -> list[str]:
        """Cut a text into pieces that the model reads whole.

        Returns:
            The text itself when it fits; otherwise overlapping substrings of it, in the order of the text.

        Raises:
            EmbeddingError: The tokenizer could not be loaded.
        """

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, typically the pieces that ``chunk`` made.

        Returns:
            float32, shape (number of texts, dimension), in the order given, each row of length 1.

        Raises:
            EmbeddingError: The model could not be loaded or did not give a usable vector; no partial result.
        """

    def embed_query(self, text: str) -> Vector:
        """Embed a query; the vectors of recent queries are cached.

        Returns:
            float32, shape (dimension,), of length 1 and read-only.

        Raises:
            EmbeddingError: As for ``embed``.
        """
