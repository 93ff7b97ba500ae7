"""Computes the embeddings of stored memories.

The engine lists the texts that wait, so no text is lost: a text that failed, was edited meanwhile, or was written by a
process that died, waits until it is embedded. Until then a memory is found by full-text search only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import EmbeddingError, InvalidInputError, ModelNotFoundError

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder

_PAGE: Final = 1024
_PATIENCE: Final = 12
"""Failures without a success in between, after which the model is at fault and not a text. Finding the one bad text
among a page of 1024 takes 11."""

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
        engine: Whose memories; its active model must be the embedder's.
        embedder: Turns texts into vectors.
        progress: Called with memories done and memories that waited.
        limit: Most memories to embed.
        should_stop: Asked between batches.
        compare: Whether they are compared, too.
        skip: Keys of memories that are left out.
        on_failure: Called with the key of each memory that cannot be embedded, and why, instead of raising in the end.

    Returns:
        How many memories got their vectors.

    Raises:
        EmbeddingError: A text could not be embedded. The others were, unless it is the model that fails.
    """
    engine.activate_model(embedder.model_id, embedder.dimension)
    total = engine.count_pending_embeddings()
    done = 0
    after_key = 0
    failures = _Failures(on_failure)
    while (limit is None or done < limit) and not should_stop():
        page = engine.pending_embeddings(after_key, _PAGE if limit is None else min(_PAGE, limit - done))
        if not page:
            break
        after_key = page[-1][0]
        page = [one for one in page if one[0] not in skip]
        done += _embed_around_failures(engine, embedder, page, failures)
        if progress is not None:
            progress(min(done, total), total)
    while compare and not should_stop() and engine.compare_new():
        pass
    if failures.first is not None and on_failure is None:
        raise failures.first
    return done


class _Failures:
    """What went wrong in one run: the first error, and how many came since something went right."""

    def __init__(self, tell: Callable[[int, Exception], None] | None) -> None:
        self.first: EmbeddingError | InvalidInputError | None = None
        self.in_a_row = 0
        self.tell = tell


def _embed_around_failures(engine: Engine, embedder: Embedder, page: list[tuple[int, str]], failures: _Failures) -> int:
    """Embed a page, halving it around texts that fail, so that one bad text does not keep the others waiting."""
    try:
        stored = _embed_page(engine, embedder, page)
    except ModelNotFoundError:
        raise
    except (EmbeddingError, InvalidInputError) as error:
        failures.first = failures.first or error
        # With somebody to tell, only a single text counts: halving a page around a few bad ones fails often.
        failures.in_a_row += 1 if failures.tell is None or len(page) == 1 else 0
        if failures.in_a_row >= _PATIENCE:
            if failures.tell is None or not _works(embedder):
                raise
            failures.in_a_row = 0
        if len(page) == 1:
            if failures.tell is not None:
                failures.tell(page[0][0], error)
            return 0
        middle = len(page) // 2
        return sum(_embed_around_failures(engine, embedder, half, failures) for half in (page[:middle], page[middle:]))
    failures.in_a_row = 0
    return stored


def _works(embedder: Embedder) -> bool:
    """Try the model on a text that it can embed if it can embed any."""
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
    stored, _ = engine.store_embeddings(
        embedder.model_id, [(key, [(piece, row_of.get(piece)) for piece in pieces]) for key, pieces in chunks], vectors
    )
    return stored
