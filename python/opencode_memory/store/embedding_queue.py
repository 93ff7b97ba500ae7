"""Embeds the memories of a store: chooses the embedder, embeds in the background, and serialises processes.

Only one process at a time embeds for a data directory. Others would do the same work twice.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory._core import subject
from opencode_memory.errors import ClosedError, EmbeddingBudgetError, EmbeddingError, OpencodeMemoryError, StorageError
from opencode_memory.platform import system
from opencode_memory.store.embed import Progress, embed_pending
from opencode_memory.store.embedder_choice import EmbedderChoice

if TYPE_CHECKING:
    from datetime import datetime

    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder, QueryVector, Vector

_log: Final = logging.getLogger(__name__)

_LOCK: Final = "embedder.lock"
_LOCK_POLL_SECONDS: Final = 0.05
_PAUSE_SECONDS: Final = 0.02
"""A pause of this length ends a series of writes."""
_SERIES_SECONDS: Final = 0.5
"""The first write of a series waits so long at most."""
_LONGEST: Final = 65_504.0
"""Greatest length of a vector, whose values the engine keeps in half precision."""


class EmbeddingQueue:
    """The memories of a store that wait for their embeddings, and the embedder that makes these.

    Args:
        engine: The engine of the store.
        data_dir: Its folder, for the lock between processes.
        choice: The embedders of memories.
        session_embedder: Embeds turns of sessions; None for the one that embeds memories.
        in_background: Whether a thread of this process embeds its new memories.
    """

    def __init__(
        self,
        engine: Engine,
        data_dir: Path,
        *,
        choice: EmbedderChoice,
        session_embedder: Embedder | None = None,
        in_background: bool,
    ) -> None:
        self._engine = engine
        self.data_dir = data_dir
        self.choice = choice
        self._session_embedder = session_embedder
        self._lock = threading.Lock()
        self._in_background = in_background
        self._background: BackgroundEmbedding | None = None
        self._last_warning: str | None = None

    def session_embedder(self) -> Embedder:
        """Return the embedder of turns of sessions."""
        return self._session_embedder or self.choice.wanted()

    def matching_embedder(self) -> Embedder:
        """Return the embedder of the model of the stored vectors.

        Raises:
            EmbeddingError: The vectors are of a model that is not here.
        """
        if (embedder := self.choice.fitting()) is not None:
            return embedder
        raise EmbeddingError(self.choice.mismatch() or "the embedding model was changed at this moment; try again")

    def mismatch(self) -> str | None:
        """Return why queries are answered by words alone; None if they are not."""
        try:
            return self.choice.mismatch()
        except EmbeddingError as error:
            return str(error)

    def count_pending(self) -> int:
        """Return how many memories have no vectors of the embedder's model; without an embedder, of the active one."""
        try:
            model = (self.choice.fitting() or self.choice.wanted()).model_id
        except EmbeddingError:
            model = None
        return self._engine.count_pending_embeddings(model)

    def embed(
        self,
        embedder: Embedder,
        *,
        progress: Progress | None = None,
        limit: int | None = None,
    ) -> int:
        """Wait for other processes that embed, then embed waiting memories; return the number of memories embedded.

        Raises:
            StorageError: The store was opened read-only, or the lock between processes cannot be opened.
        """
        if not self._engine.is_writable:
            file = self.data_dir / "store.db"
            raise StorageError(f"write to {file}: the store was opened read-only", path=str(file))
        with embedding_turn(self.data_dir):
            return embed_pending(self._engine, embedder, progress=progress, limit=limit)

    def embed_unless_busy(
        self,
        embedder: Embedder,
        *,
        limit: int,
        skip: Collection[int],
        on_failure: Callable[[int, Exception], None] | None,
    ) -> int | None:
        """Embed some of what waits, without comparing; None if another process is embedding."""
        with embedding_turn(self.data_dir, give_up=lambda: True) as has_turn:
            if not has_turn:
                return None
            return embed_pending(self._engine, embedder, limit=limit, compare=False, skip=skip, on_failure=on_failure)

    def embed_query(self, query: str, *, of_sessions: bool = False) -> QueryVector | None:
        """Embed a query; None if the store has no vectors of a model that is here, or if the model fails.

        Args:
            query: The query.
            of_sessions: Whether it searches the session index, whose vectors come from another embedder.
        """
        if not query.strip():
            return None
        embedder: Embedder | None = None
        try:
            embedder, reason = (self.session_embedder(), None) if of_sessions else self.choice.for_queries()
            if embedder is not None:
                return embedder.model_id, _check(embedder.embed_query(subject(query)))
        except EmbeddingError as error:
            if embedder is None:
                reason = str(error)
            else:
                self._note_refusal(error)
                reason = f"the query could not be embedded, so only full-text search is used: {error}"
        if reason is not None and self._last_warning != reason:
            self._last_warning = reason
            _log.warning("%s", reason)
        return None

    def _note_refusal(self, error: EmbeddingError) -> None:
        """Let other processes see that a query waits for the next budget of tokens."""
        if isinstance(error, EmbeddingBudgetError) and error.until is not None and self._engine.is_writable:
            # The recall goes on by words. It must not fail because the store is busy.
            with suppress(OpencodeMemoryError):
                self._engine.note_refused_tokens(error.tokens)

    def notify(self) -> None:
        """Wake the background thread after a write. Raises nothing, because the write is done already."""
        if not self._in_background:
            return
        try:
            self.choice.wanted()
        except EmbeddingError:
            _log.exception("the embedding model cannot be used, so new memories are found by full-text search only")
            return
        with self._lock:
            if self._background is None:
                self._background = BackgroundEmbedding(self._engine, self.choice, self.data_dir)
                # Once the store is gone, no write wakes the thread any more.
                weakref.finalize(self, self._background.abandon)
            background = self._background
        background.notify()

    def close(self, *, seconds: float | None = None) -> bool:
        """Embed what this process wrote, and end the background thread.

        Args:
            seconds: Time after which the rest is left to other processes; None for no limit.

        Returns:
            Whether there was such a thread.
        """
        if self._background is None:
            return False
        self._background.close(seconds=seconds)
        return True


class BackgroundEmbedding:
    """A thread that embeds what this process writes, so that no write waits for the model."""

    def __init__(self, engine: Engine, choice: EmbedderChoice, lock_folder: Path) -> None:
        self._engine = engine
        self._choice = choice
        self._lock_folder = lock_folder
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._deadline: float | None = None
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def notify(self) -> None:
        """Wake the thread after a write."""
        self._wake.set()
        with self._start:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="opencode-memory-embedding", daemon=True)
                self._thread.start()

    def close(self, *, seconds: float | None = None) -> None:
        """Embed what still waits, unless another process is embedding, and end the thread.

        Args:
            seconds: Time after which no further page of texts is embedded; None for no limit.
        """
        if os.getpid() != self._process:
            return  # After a fork this process has no such thread, and its locks may be held forever.
        with self._start:
            if seconds is not None:
                self._deadline = time.monotonic() + seconds
            self._closing.set()
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join()

    def abandon(self) -> None:
        """Tell the thread to end, without waiting for it."""
        if os.getpid() == self._process:
            self._closing.set()
            self._wake.set()

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _let_writes_go_by(self) -> None:
        """Wait until a series of writes pauses, but not for long, because each turn of embedding commits twice."""
        latest = time.monotonic() + _SERIES_SECONDS
        while True:
            self._wake.clear()
            if self._closing.is_set() or not self._wake.wait(_PAUSE_SECONDS) or time.monotonic() > latest:
                self._wake.clear()
                return

    def _run(self) -> None:
        told: datetime | None = None
        while True:
            self._wake.wait()
            self._let_writes_go_by()
            closing = self._closing.is_set()
            try:
                with embedding_turn(self._lock_folder, give_up=self._closing.is_set) as has_turn:
                    # Another process may have changed the model; without an embedder of it, the texts wait for that
                    # process.
                    if has_turn and (embedder := self._choice.fitting()) is not None:
                        embed_pending(self._engine, embedder, should_stop=self._is_late)
            except ClosedError:
                return  # The program ends without closing the store; the next process embeds the rest.
            except EmbeddingBudgetError as error:
                if error.until != told:
                    told = error.until
                    _log.warning("%s; until then, new memories are found by their words only", error)
            except EmbeddingError as error:
                # A server that does not run is expected, so its log needs no stack trace.
                text = "embedding in the background failed, so new memories are found by their words only: %s"
                _log.error(text, error)
            except Exception:  # noqa: BLE001  an embedder may raise anything
                # The thread is needed for the next write. The memories are stored and found by full-text search; they
                # keep waiting, and `stats` shows how many.
                _log.exception("embedding in the background failed; it is retried after the next write")
            if closing:
                return


@contextmanager
def embedding_turn(folder: Path, *, give_up: Callable[[], bool] = lambda: False) -> Iterator[bool]:
    """Wait for the turn of this process to embed for a data directory.

    Args:
        folder: The data directory.
        give_up: Called while another process embeds; if it returns true, the rest is left to that process.

    Yields:
        Whether this process has the turn.

    Raises:
        StorageError: The file of the lock cannot be opened.
    """
    try:
        descriptor = system().open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        file = str(folder / _LOCK)
        raise StorageError(f"cannot open {file}: {error.strerror or error}", path=file) from error
    try:
        pause = threading.Event()
        while True:
            if system().try_lock(descriptor):
                yield True
                return
            if give_up():
                yield False
                return
            pause.wait(_LOCK_POLL_SECONDS)
    finally:
        # A child that was forked meanwhile has the descriptor too, so closing ours would not release the lock.
        system().unlock(descriptor)
        os.close(descriptor)


def _check(vector: Vector) -> Vector:
    """Return a vector of a query.

    Raises:
        EmbeddingError: It has a value that is no number, or too large a one. The engine would refuse it.
    """
    if math.hypot(*vector) <= _LONGEST:
        return vector
    raise EmbeddingError("the embedder returned values that are not finite or too large")
