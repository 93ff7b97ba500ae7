"""Computes the embeddings of stored memories.

The engine lists the texts that wait, so no text is lost: a text that failed, was edited meanwhile, or was written by a
process that died, waits until it is embedded. Until then a memory is found by full-text search only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import (
    ConflictError,
    EmbeddingBudgetError,
    EmbeddingError,
    InvalidInputError,
    ModelNotFoundError,
)
from opencode_memory.store.calibration import calibrate, is_calibrated

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder

FIRST_PAGE: Final = 32
"""Memories in the first transaction, and the least. Long texts are embedded equally fast in pages of 16 to 400."""
_LARGEST_PAGE: Final = 1024
_SHORT_SECONDS: Final = 0.5
_LONG_SECONDS: Final = 2.0
"""Bounds of the time for a page, because an interrupt loses the vectors of one page."""
_PATIENCE: Final = 12
"""Number of failures in a row after which the model, not a text, is considered faulty. Finding one bad text in a page
of 1024 takes 11."""

Progress = Callable[[int, int], None]


def embed_pending(
    engine: Engine,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    limit: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    compare: bool = True,
    skip: Collection[int] = (),
    on_failure: Callable[[int, Exception], None] | None = None,
) -> int:
    """Embed memories that wait, oldest first, and compare them with their neighbours.

    Args:
        engine: The engine of the store; its active model becomes the embedder's.
        embedder: Turns texts into vectors.
        progress: Called with memories done and memories that waited.
        limit: Maximum number of memories to embed.
        should_stop: Called between batches.
        compare: Whether to compare the memories with their neighbours.
        skip: Keys of memories to leave out.
        on_failure: Called with the key of each memory that cannot be embedded, and the error; without it the first
            error is raised at the end.

    Returns:
        The number of memories that got their vectors.

    Raises:
        EmbeddingError: A text could not be embedded. The other texts were, unless the model itself fails.
    """
    engine.activate_model(embedder.model_id, embedder.dimension)
    total = engine.count_pending_embeddings()
    done = 0
    after_key = 0
    size = FIRST_PAGE
    failures = _Failures(on_failure)
    while (limit is None or done < limit) and not should_stop():
        begun = time.monotonic()
        page = engine.pending_embeddings(after_key, size if limit is None else min(size, limit - done))
        if not page:
            break
        after_key = page[-1][0]
        page = [(key, text) for key, text in page if key not in skip]
        done += _embed_around_failures(engine, embedder, page, failures)
        size = _choose_size(size, time.monotonic() - begun)
        if progress is not None:
            progress(min(done, total), total)
    if compare and not should_stop():
        # Before memories are compared, because limits decide on their links. If the model fails, the next run compares.
        with suppress(EmbeddingError):
            calibrate(engine, embedder)
    while compare and is_calibrated(engine, embedder) and not should_stop() and engine.compare_new():
        pass
    if failures.first is not None and on_failure is None:
        raise failures.first
    return done


def _choose_size(size: int, seconds: float) -> int:
    """Choose the size of the next page by the time that a page of ``size`` took."""
    if seconds < _SHORT_SECONDS:
        return min(2 * size, _LARGEST_PAGE)
    return max(size // 2, FIRST_PAGE) if seconds > _LONG_SECONDS else size


class _Failures:
    """Failures of one run: the first error, and the number of failures since the last success."""

    def __init__(self, tell: Callable[[int, Exception], None] | None) -> None:
        self.first: EmbeddingError | InvalidInputError | None = None
        self.in_a_row = 0
        self.tell = tell

    def note(self, key: int, error: EmbeddingError | InvalidInputError) -> None:
        """Note that a text cannot be embedded."""
        self.first = self.first or error
        if self.tell is not None:
            self.tell(key, error)


def _embed_around_failures(engine: Engine, embedder: Embedder, page: list[tuple[int, str]], failures: _Failures) -> int:
    """Embed a page; bisect it around texts that fail, so that one bad text does not block the others."""
    try:
        stored = _embed_page(engine, embedder, page)
    except ModelNotFoundError:
        raise
    except EmbeddingBudgetError as error:
        if len(page) == 1:
            if error.until is not None:
                engine.note_refused_tokens(error.tokens)
                raise  # The other texts wait as well.
            failures.note(page[0][0], error)
            return 0
    except (EmbeddingError, InvalidInputError) as error:
        failures.first = failures.first or error
        # With `on_failure`, count only failures of single texts. Bisecting a page around a few bad texts produces many
        # failures that say nothing about the model.
        failures.in_a_row += 1 if failures.tell is None or len(page) == 1 else 0
        if failures.in_a_row >= _PATIENCE:
            if failures.tell is None or not works(embedder):
                raise
            failures.in_a_row = 0
        if len(page) == 1:
            failures.note(page[0][0], error)
            return 0
    else:
        failures.in_a_row = 0
        return stored
    middle = len(page) // 2
    return sum(_embed_around_failures(engine, embedder, half, failures) for half in (page[:middle], page[middle:]))


def works(embedder: Embedder) -> bool:
    """Return whether the model can embed a trivial text."""
    try:
        return len(embedder.embed(["memory"])) == 1
    except (EmbeddingError, InvalidInputError):
        return False


def _embed_page(engine: Engine, embedder: Embedder, page: list[tuple[int, str]]) -> int:
    if not page:
        return 0
    chunks = [(key, embedder.chunk(text)) for key, text in page]
    texts = list(dict.fromkeys(piece for _, pieces in chunks for piece in pieces))
    new = [text for text, known in zip(texts, engine.known_embeddings(texts), strict=True) if not known]
    row_of = {text: row for row, text in enumerate(new)}
    vectors = embedder.embed(new)
    if len(vectors) != len(new):
        raise EmbeddingError(f"{embedder.model_id} returned {len(vectors)} vectors for {len(new)} texts")
    memories = [(key, [(piece, row_of.get(piece)) for piece in pieces]) for key, pieces in chunks]
    try:
        stored, _ = engine.store_embeddings(embedder.model_id, memories, vectors)
    except ConflictError:
        if all(engine.known_embeddings([text for text in texts if text not in row_of])):
            raise
        # Another process has removed a vector that no memory used, for example that of a text that an undo restored.
        return _embed_page(engine, embedder, page)
    return stored
