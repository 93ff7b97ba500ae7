"""Changes the embedding model of a store while recall goes on with the former vectors.

Vectors of the next model are stored beside those of the active one. Once all texts have them, one transaction makes the
next model the active one. What is stored survives a kill, and the change goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opencode_memory.embedding.rows import to_rows
from opencode_memory.errors import ConflictError, EmbeddingBudgetError, EmbeddingError, InvalidInputError
from opencode_memory.store.calibration import calibrate
from opencode_memory.store.embed import works

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder, Vectors
    from opencode_memory.store.embed import Progress

_PAGE: Final = 64
"""Memories in one transaction, so that a kill loses seconds of work at most."""
_SCANNED: Final = 1000
_ROUNDS: Final = 3
"""Attempts to complete a change while another process writes memories or deletes vectors that no memory uses."""


def stage(
    engine: Engine,
    embedder: Embedder,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Embed texts with the next model, beside the vectors that answer recalls.

    Args:
        engine: The engine of the store.
        embedder: Embedder of the next model.
        limit: Most memories to embed; None for all.
        progress: Called with the number of memories done, and of all.
        should_stop: Called between pages.

    Returns:
        Whether all memories are done.

    Raises:
        ConflictError: The change was given up meanwhile, or the model is the active one.
        EmbeddingError: The model fails; what was embedded is kept. A single text that fails is left out.
    """
    after_key = engine.begin_model_change(embedder.model_id, embedder.dimension)
    total = engine.count_texts_to_embed(0)
    before = total - engine.count_texts_to_embed(after_key)
    done = 0
    while not should_stop() and (limit is None or done < limit):
        page = engine.texts_to_embed(after_key, _PAGE)
        if not page:
            return True
        after_key = page[-1][0]
        _stage_page(engine, embedder, page)
        done += len(page)
        if progress is not None:
            progress(before + done, max(total, before + done))
    return False


def complete(engine: Engine, embedder: Embedder) -> int:
    """Make the next model the active one, all at once; return the number of memories that have its vectors.

    A text that the model cannot embed waits for its vectors afterwards.

    Raises:
        ConflictError: The change was given up meanwhile.
        EmbeddingError: The model fails.
    """
    # Before the change, because another scale would let all processes read all vectors again. If the model fails here,
    # the worker measures its scale later.
    with suppress(EmbeddingError):
        calibrate(engine, embedder)
    for attempt in range(1, _ROUNDS + 1):
        memories: list[tuple[int, str, list[str]]] = []
        after_key = 0
        while page := engine.texts_to_embed(after_key, _SCANNED):
            after_key = page[-1][0]
            pieces = _stage_page(engine, embedder, page)
            memories += [(key, text, cut) for (key, text), cut in zip(page, pieces, strict=True) if cut]
        try:
            return engine.complete_model_change(embedder.model_id, memories)
        except ConflictError:
            if attempt == _ROUNDS or engine.model_change() is None:
                raise
    raise AssertionError("the last attempt returns or raises")


def _stage_page(engine: Engine, embedder: Embedder, page: list[tuple[int, str]]) -> list[list[str]]:
    """Store the vectors that are missing; return the pieces of each text, none if it cannot be embedded."""
    pieces = [embedder.chunk(text) for _, text in page]
    memories = [(key, cut) for (key, _), cut in zip(page, pieces, strict=True)]
    every = list(dict.fromkeys(piece for cut in pieces for piece in cut))
    new = [piece for piece, known in zip(every, engine.staged_embeddings(every), strict=True) if not known]
    done: set[str] = set(every) - set(new)
    for batch, vectors in _embed_around_failures(engine, embedder, new):
        engine.stage_embeddings(embedder.model_id, 0, memories, batch, vectors)
        done.update(batch)
    nothing = to_rows((), embedder.dimension)
    engine.stage_embeddings(embedder.model_id, page[-1][0], memories, [], nothing)
    return [cut if done.issuperset(cut) else [] for cut in pieces]


def _embed_around_failures(engine: Engine, embedder: Embedder, texts: list[str]) -> Iterator[tuple[list[str], Vectors]]:
    """Embed texts; halve them around a text that fails, and leave it out. If each text fails, the model does."""
    if not texts:
        return
    waiting = [texts]
    has_worked = False
    while waiting:
        batch = waiting.pop()
        try:
            vectors = embedder.embed(batch)
        except (EmbeddingError, InvalidInputError) as error:
            if len(batch) == 1 and isinstance(error, EmbeddingBudgetError):
                if error.until is None:
                    continue  # No day has enough tokens for this text.
                engine.note_refused_tokens(error.tokens)
                raise
            if len(batch) > 1:
                middle = len(batch) // 2
                waiting += [batch[middle:], batch[:middle]]
            elif not has_worked and not works(embedder):
                raise
            continue
        has_worked = True
        if len(vectors) != len(batch):
            raise EmbeddingError(f"{embedder.model_id} returned {len(vectors)} vectors for {len(batch)} texts")
        yield batch, vectors
