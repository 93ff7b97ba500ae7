"""The embedder that is shipped with the package: all-MiniLM-L6-v2 on the CPU, without any network.

The weights are stored in 16 bits and mapped from their file, so processes share them. ``rust/embed`` widens them while
it multiplies; all arithmetic is in 32 bits. Importing this module costs nothing: the engine and the model are loaded by
the first text.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.batching import plan_batches, run_batches
from opencode_memory.embedding.chunking import MAX_CHUNKS, cut, surely_fits
from opencode_memory.embedding.registry import find_model
from opencode_memory.embedding.rows import Rows, first_row
from opencode_memory.embedding.tokenization import Tokenization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opencode_memory._core import Encoder
    from opencode_memory.embedding.base import Vector, Vectors
    from opencode_memory.embedding.registry import Model

MAX_THREADS: Final = 4
"""Cores taken unless told otherwise: an assistant's memory is a guest on the machine."""

QUERY_CACHE_SIZE: Final = 512
"""Queries kept in memory, 1.5 KB each."""

MAX_CACHED_QUERY: Final = 2_000
"""Characters; longer queries are not worth keeping, and would make the cache unbounded in bytes."""

MAX_QUERY_CHUNKS: Final = 4
"""Pieces of a query that are read: the user waits for the answer, and each costs about as much as ten queries."""

_FRAME: Final = 2
"""Tokens that the model wants around each text."""


class BundledEmbedder:
    """Embeds with the bundled model; satisfies ``Embedder``.

    Creating one is cheap; the model is loaded by the first call that needs it, or by ``load``. All methods may be
    called from several threads. It holds no threads between calls, so a process that loaded it may ``fork``.

    Args:
        model: Its files; by default those in the package.
        threads: Batches that run at the same time; by default the usable CPUs, at most ``MAX_THREADS``. Each batch runs
            on one thread: two batches on two threads are faster than one after the other on both.

    Raises:
        ModelNotFoundError: The default model's manifest is missing or damaged.
        ValueError: ``threads`` is less than 1.
    """

    def __init__(self, model: Model | None = None, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            message = f"threads must be at least 1, not {threads}"
            raise ValueError(message)
        self._model = model or find_model()
        self._threads = threads or usable_cpus()
        self._tokenization = Tokenization(self._model.vocabulary)
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._cached_query = functools.lru_cache(QUERY_CACHE_SIZE)(self._embed_query)

    @property
    def model_id(self) -> str:
        """Name and version of the model."""
        return self._model.model_id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._model.dimension

    def load(self) -> None:
        """Load the model now instead of at the first text.

        Raises:
            ModelNotFoundError: A file of the model is missing or damaged.
        """
        self._load_encoder()
        self._tokenization.ids("")

    def chunk(self, text: str) -> list[str]:
        """Cut a text into pieces that fit the window; see ``Embedder.chunk`` and ``chunking.MAX_CHUNKS``."""
        return [text] if surely_fits(text, self._content_window) else self._cut(text, MAX_CHUNKS)

    def embed(self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> Vectors:
        """Embed texts.

        A text longer than the window is not truncated: it gets the mean of its pieces' vectors, each weighted by its
        tokens. Better to ``chunk`` first and keep the pieces' vectors.

        Args:
            texts: Any number of texts; an empty text has a vector, too.
            progress: Called in the calling thread after each batch with the pieces done and their total. What it raises
                ends the call.

        Returns:
            float32, shape (number of texts, dimension), in the order given, each row of length 1.

        Raises:
            EmbeddingError: The model could not be loaded or did not give a usable vector; no partial result.
        """
        return self._embed(texts, max_chunks=MAX_CHUNKS, progress=progress)

    def embed_query(self, text: str) -> Vector:
        """Embed a query; see ``Embedder.embed_query``.

        Of a query much longer than the window, ``MAX_QUERY_CHUNKS`` pieces from its beginning to its end are read.
        """
        return self._cached_query(text) if len(text) <= MAX_CACHED_QUERY else self._embed_query(text)

    @property
    def _content_window(self) -> int:
        return self._model.window - _FRAME

    def _embed_query(self, text: str) -> Vector:
        return first_row(self._embed([text], max_chunks=MAX_QUERY_CHUNKS), self.dimension)

    def _cut(self, text: str, max_chunks: int) -> list[str]:
        return cut(text, self._tokenization.words(text), window=self._content_window, max_chunks=max_chunks)

    def _embed(
        self, texts: Sequence[str], *, max_chunks: int, progress: Callable[[int, int], None] | None = None
    ) -> Vectors:
        from opencode_memory._core import join_pieces  # noqa: PLC0415  the command line starts faster without it

        rows: list[list[int]] = []
        pieces: list[int] = []
        for text in texts:
            before = len(rows)
            ids = self._tokenization.ids(text)
            if len(ids) <= self._model.window:
                rows.append(ids)
            else:
                rows.extend(self._tokenization.ids(piece) for piece in self._cut(text, max_chunks))
            pieces.append(len(rows) - before)
        return join_pieces(self._run(rows, progress), pieces, [len(ids) for ids in rows])

    def _run(self, rows: Sequence[Sequence[int]], progress: Callable[[int, int], None] | None) -> Vectors:
        """Run the model over token ids; shape (number of rows, dimension), in their order."""
        vectors = Rows(len(rows), self.dimension)
        if not rows:
            return vectors.view()
        encoder = self._load_encoder()
        finished = 0

        def run(batch: list[int]) -> None:
            vectors.put(batch, encoder.embed([rows[index] for index in batch]))

        def done(batch: list[int]) -> None:
            nonlocal finished
            finished += len(batch)
            if progress is not None:
                progress(finished, len(rows))

        batches = plan_batches([len(ids) for ids in rows], workers=self._threads)
        run_batches(run, batches, threads=self._threads, done=done)
        return vectors.view()

    def _load_encoder(self) -> Encoder:
        if self._encoder is None:
            with self._lock:
                if self._encoder is None:
                    self._model.weights.check_size()
                    from opencode_memory._core import Encoder  # noqa: PLC0415  the command line starts faster without it

                    self._encoder = Encoder(self._model.weights.path)
        return self._encoder


def usable_cpus() -> int:
    """Count the CPUs that this process may run on, at most ``MAX_THREADS``."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MAX_THREADS)
