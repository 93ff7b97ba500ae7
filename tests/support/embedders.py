"""Embedders that need no model: exact, small, and willing to fail on demand."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from opencode_memory.embedding.base import Embedder
from opencode_memory.errors import EmbeddingError

Vectors = npt.NDArray[np.float32]


class WordEmbedder:
    """A vector counts the words of a text, each in the dimension that its hash names.

    Texts that share no word have cosine 0 unless two words meet in one dimension, so "near in meaning" is exact here.
    ``synonyms`` gives words another name first: that is all the meaning there is.
    """

    def __init__(
        self,
        model_id: str = "words",
        *,
        dimension: int = 256,
        synonyms: Mapping[str, str] | None = None,
        window: int = 64,
    ) -> None:
        self.model_id = model_id
        self.dimension = dimension
        self._synonyms = dict(synonyms or {})
        self._window = window
        self._lock = threading.Lock()
        self.embedded: list[str] = []

    def chunk(self, text: str) -> list[str]:
        """Cut after every ``window`` words."""
        words = list(re.finditer(r"\S+", text))
        if len(words) <= self._window:
            return [text]
        starts = range(0, len(words), self._window)
        return [text[words[at].start() : words[min(at + self._window, len(words)) - 1].end()] for at in starts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts and remember which they were."""
        with self._lock:
            self.embedded += texts
        # As from the bundled model: a `memoryview` without values has one dimension.
        shape = (len(texts), self.dimension) if texts else (0,)
        return np.array([self._vector(text) for text in texts], np.float32).reshape(shape)

    def embed_query(self, text: str) -> Vectors:
        """Embed a query; queries are not counted."""
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, np.float32)
        for word in re.findall(r"\w+", text.lower()) or ["\0"]:
            name = self._synonyms.get(word, word)
            vector[int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) % self.dimension] += 1
        return vector / np.linalg.norm(vector)


class HookedEmbedder(WordEmbedder):
    """Calls ``before`` with the texts of each batch, which may raise or change the store."""

    def __init__(
        self, before: Callable[[Sequence[str]], object], model_id: str = "words", *, dimension: int = 256
    ) -> None:
        super().__init__(model_id, dimension=dimension)
        self.before = before

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Call the hook, then embed."""
        self.before(texts)
        return super().embed(texts)


class DownEmbedder(WordEmbedder):
    """A model that is out of order until ``is_down`` is cleared."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.is_down = True
        self.error = error or EmbeddingError("the model is out of order")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Fail or embed."""
        if self.is_down:
            raise self.error
        return super().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Fail or embed."""
        if self.is_down:
            raise self.error
        return super().embed_query(text)


class ConstantEmbedder(WordEmbedder):
    """Returns the same useless vector for every text."""

    def __init__(self, value: float) -> None:
        super().__init__(dimension=16)
        self._value = value

    def _vector(self, text: str) -> Vectors:
        return np.full(self.dimension, self._value, np.float32)


class SqueezedEmbedder:
    """Another embedder whose cosines are squeezed into 0.7 to 1: the cosine c of the other one is 0.7 + 0.3 c here."""

    def __init__(self, inner: Embedder, *, same: float = 0.7) -> None:
        self.model_id = "squeezed"
        self.dimension = inner.dimension + 1
        self.is_down = False
        self._inner = inner
        self._same = same

    def chunk(self, text: str) -> list[str]:
        """Cut as the other embedder does."""
        return self._inner.chunk(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; fail while ``is_down``."""
        if self.is_down:
            raise EmbeddingError("the model is out of order")
        rows = np.array([self._inner.embed_query(text) for text in texts], np.float32)
        same = np.full((len(texts), 1), self._same**0.5, np.float32)
        return np.hstack([same, rows.reshape(len(texts), self.dimension - 1) * (1 - self._same) ** 0.5])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries as texts."""
        return self.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed a query."""
        vector: Vectors = self.embed([text])[0]
        return vector
