"""Embedding what waits: the step between the acknowledgement of a memory and its being found by meaning.

Whoever runs this asks the engine which texts wait, so nothing is forgotten: a text that failed, was edited while it was
being embedded, or was written by a process that died, waits until it is done. One process at a time embeds for a data
directory; the others would only do the same work twice.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ClosedError, EmbeddingError, InvalidInputError, ModelNotFoundError

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder

_log: Final = logging.getLogger(__name__)

_PAGE: Final = 1024
_LOCK: Final = "embedder.lock"
_LOCK_POLL_SECONDS: Final = 0.05
_PATIENCE: Final = 12
"""Failures without a success in between, after which the model is at fault and not a text. Finding the one bad text
among a page of 1024 takes 11."""

Progress = Callable[[int, int], None]


class ModelMismatch:
    """How the embedder and the store's vectors stand to each other."""

    def __init__(self, stored: str, loaded: str) -> None:
        self.stored = stored
        self.loaded = loaded

    def __str__(self) -> str:
        return (
            f"the store's vectors were made by {self.stored}, but the embedder here is {self.loaded}; memories are "
            "found by their words only until `opencode-memory reindex` embeds them again"
        )


def mismatch(engine: Engine, embedder: Embedder) -> ModelMismatch | None:
    """Compare the embedder with the model that the store's vectors come from; a store without vectors fits any."""
    active = engine.active_model()
    if active is None or active == (embedder.model_id, embedder.dimension):
        return None
    return ModelMismatch(stored=f"{active[0]} ({active[1]} dimensions)", loaded=embedder.model_id)


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


class BackgroundEmbedding:
    """A thread that embeds what this process writes, so that nobody waits for a model."""

    def __init__(self, engine: Engine, embedder: Embedder, lock_folder: Path) -> None:
        self._engine = engine
        self._embedder = embedder
        self._lock_folder = lock_folder
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def notify(self) -> None:
        """Say that something was written."""
        self._wake.set()
        with self._start:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="opencode-memory-embedding", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Embed what still waits, unless another process is at it, and end the thread."""
        if os.getpid() != self._process:
            return  # After a fork the thread is not here, and its locks may be held for ever.
        with self._start:
            self._closing.set()
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join()

    def abandon(self) -> None:
        """Let the thread end by itself."""
        if os.getpid() == self._process:
            self._closing.set()
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing.is_set()
            try:
                with embedding_turn(self._lock_folder, give_up=self._closing.is_set) as mine:
                    # Another process may have changed the model since, and the texts wait for that one then.
                    if mine and mismatch(self._engine, self._embedder) is None:
                        embed_pending(self._engine, self._embedder)
            except ClosedError:
                return  # The program ends without closing the store; the next one embeds what waits.
            except Exception:  # noqa: BLE001  an embedder may raise anything
                # The thread has to be there for the next write. The memories are stored and found by their words;
                # they wait, and `stats` says how many.
                _log.exception("embedding in the background failed; it is tried again at the next write")
            if closing:
                return


@contextmanager
def embedding_turn(folder: Path, *, give_up: Callable[[], bool] = lambda: False) -> Iterator[bool]:
    """Wait until this process may embed for a data directory.

    Args:
        folder: The data directory.
        give_up: Asked while another process embeds; what waits is then left to that one.

    Yields:
        Whether it is this process's turn.
    """
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        pause = threading.Event()
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if give_up():
                    yield False
                    return
                pause.wait(_LOCK_POLL_SECONDS)
            else:
                yield True
                return
    finally:
        # A child that was forked meanwhile has the descriptor too: closing ours would not give the lock back.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
