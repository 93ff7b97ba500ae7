"""Embedder with the model of a folder; the bundled tokenizer cuts the texts."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.batching import run_batches
from opencode_memory.embedding.folder.padding import plan_padded_batches
from opencode_memory.embedding.folder.session import FolderSession
from opencode_memory.embedding.folder.tokenization import FolderTokenization
from opencode_memory.embedding.rows import Rows, first_row

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Embedder, Vector, Vectors
    from opencode_memory.embedding.folder.description import FolderModel

QUERY_CACHE_SIZE: Final = 512
LONGEST_QUERY: Final = 2_000
"""Characters. Of a longer query, only the beginning is embedded, because the caller waits."""


class FolderEmbedder:
    """Embeds with an ONNX model in a folder; satisfies ``Embedder``.

    Args:
        model: The model; it is loaded by the first text.
        threads: Batches that run at the same time.
        cutter: Cuts texts into pieces of the bundled model's window (256 tokens).
    """

    def __init__(self, model: FolderModel, *, threads: int, cutter: Embedder) -> None:
        self._model = model
        self._threads = threads
        self._cutter = cutter
        self._tokenization = FolderTokenization(model.tokenizer)
        self._lock = threading.Lock()
        self._session: FolderSession | None = None
        self._cached_query = functools.lru_cache(QUERY_CACHE_SIZE)(self._embed_query)

    @property
    def model_id(self) -> str:
        """See ``FolderModel.model_id``."""
        return self._model.model_id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._model.dimension

    def chunk(self, text: str) -> list[str]:
        """Cut a text into pieces; see ``Embedder.chunk``."""
        return self._cutter.chunk(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; see ``Embedder.embed``."""
        return self._run([self._model.text_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Embed a query; see ``Embedder.embed_query``."""
        return self._cached_query(text[:LONGEST_QUERY])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries at once; see ``ScaledEmbedder``."""
        return self._run([self._model.query_prefix + text for text in texts])

    def _embed_query(self, text: str) -> Vector:
        return first_row(self.embed_queries([text]), self.dimension)

    def _run(self, texts: Sequence[str]) -> Vectors:
        vectors = Rows(len(texts), self.dimension)
        if not texts:
            return vectors.view()
        rows = [self._ids(text) for text in texts]
        session = self._load()

        def run(batch: list[int]) -> None:
            vectors.put(batch, session.run([rows[index] for index in batch]))

        batches = plan_padded_batches([len(ids) for ids in rows], workers=self._threads)
        run_batches(run, batches, threads=self._threads, done=lambda _batch: None)
        return vectors.view()

    def _ids(self, text: str) -> list[int]:
        """Return the tokens; of too many, the first ones and the last, which may end the text for the model."""
        ids = self._tokenization.ids(text) or [0]
        return ids if len(ids) <= self._model.window else [*ids[: self._model.window - 1], ids[-1]]

    def _load(self) -> FolderSession:
        with self._lock:
            if self._session is None:
                self._session = FolderSession(self._model)
            return self._session
