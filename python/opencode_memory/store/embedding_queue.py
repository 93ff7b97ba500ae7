"""Embeds the memories of a store: chooses the embedder, embeds in the background, and serialises processes.

Only one process at a time embeds for a data directory. Others would do the same work twice.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory._core import subject
from opencode_memory.errors import ClosedError, EmbeddingError
from opencode_memory.platform import system
from opencode_memory.store.embed import Progress, embed_pending

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder

_log: Final = logging.getLogger(__name__)

_LOCK: Final = "embedder.lock"
_LOCK_POLL_SECONDS: Final = 0.05


class EmbeddingQueue:
    """The memories of a store that wait for their embeddings, and the embedder that makes these.

    Args:
        engine: The engine of the store.
        data_dir: Its folder, for the lock between processes.
        embedder: Embeds memories; None for the bundled model, which is loaded when it is first needed.
        session_embedder: Embeds turns of sessions; None for the one that embeds memories.
        in_background: Whether a thread of this process embeds its new memories.
    """

    def __init__(
        self,
        engine: Engine,
        data_dir: Path,
        *,
        embedder: Embedder | None,
        session_embedder: Embedder | None = None,
        in_background: bool,
    ) -> None:
        self._engine = engine
        self._data_dir = data_dir
        self._embedder = embedder
        self._session_embedder = session_embedder
        self._lock = threading.Lock()
        self._in_background = in_background
        self._background: BackgroundEmbedding | None = None
        self._last_warning: str | None = None

    def embedder(self) -> Embedder:
        """Return the embedder of memories."""
        with self._lock:
            if self._embedder is None:
                from opencode_memory.embedding import OnnxEmbedder  # noqa: PLC0415  loads nothing until it embeds

                self._embedder = OnnxEmbedder()
            return self._embedder

    def session_embedder(self) -> Embedder:
        """Return the embedder of turns of sessions."""
        return self._session_embedder or self.embedder()

    def matching_embedder(self) -> Embedder:
        """Return the embedder if the vectors of the store are of its model.

        Raises:
            EmbeddingError: The vectors are of another model.
        """
        embedder = self.embedder()
        if (mismatch := find_mismatch(self._engine, embedder)) is not None:
            raise EmbeddingError(mismatch)
        return embedder

    def mismatch(self) -> str | None:
        """Return why the embedder cannot be used for queries; None if it can."""
        try:
            return find_mismatch(self._engine, self.embedder())
        except EmbeddingError as error:
            return str(error)

    def count_pending(self) -> int:
        """Return how many memories have no vectors of the embedder's model; without an embedder, of the active one."""
        try:
            model = self.embedder().model_id
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
        """Wait for other processes that embed, then embed waiting memories; return the number of memories embedded."""
        with embedding_turn(self._data_dir):
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
        with embedding_turn(self._data_dir, give_up=lambda: True) as has_turn:
            if not has_turn:
                return None
            return embed_pending(self._engine, embedder, limit=limit, compare=False, skip=skip, on_failure=on_failure)

    def embed_query(self, query: str, *, of_sessions: bool = False) -> npt.NDArray[np.float32] | None:
        """Embed a query; None if the store has no vectors of this model, or if the model fails.

        Args:
            query: The query.
            of_sessions: Whether it searches the session index, whose vectors come from another embedder.
        """
        if not query.strip() or (not of_sessions and self._engine.active_model() is None):
            return None
        reason = None if of_sessions else self.mismatch()
        if reason is None:
            try:
                embedder = self.session_embedder() if of_sessions else self.embedder()
                return embedder.embed_query(subject(query))
            except EmbeddingError as error:
                reason = f"the query could not be embedded, so only full-text search is used: {error}"
        if self._last_warning != reason:
            self._last_warning = reason
            _log.warning("%s", reason)
        return None

    def notify(self) -> None:
        """Wake the background thread after a write. Raises nothing, because the write is done already."""
        if not self._in_background:
            return
        try:
            embedder = self.embedder()
        except EmbeddingError:
            _log.exception("the embedding model cannot be used, so new memories are found by full-text search only")
            return
        with self._lock:
            if self._background is None:
                self._background = BackgroundEmbedding(self._engine, embedder, self._data_dir)
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


def find_mismatch(engine: Engine, embedder: Embedder) -> str | None:
    """Compare the embedder with the model of the stored vectors; a store without vectors fits any embedder.

    Returns:
        Why they do not fit, and what to do; None if they fit.
    """
    active = engine.active_model()
    if active is None or active == (embedder.model_id, embedder.dimension):
        return None
    return (
        f"the store's vectors were made by {active[0]} ({active[1]} dimensions), but the embedder here is "
        f"{embedder.model_id}; memories are found by full-text search only until `opencode-memory reindex` embeds "
        "them again"
    )


class BackgroundEmbedding:
    """A thread that embeds what this process writes, so that no write waits for the model."""

    def __init__(self, engine: Engine, embedder: Embedder, lock_folder: Path) -> None:
        self._engine = engine
        self._embedder = embedder
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

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing.is_set()
            try:
                with embedding_turn(self._lock_folder, give_up=self._closing.is_set) as has_turn:
                    # Another process may have changed the model since; then the texts wait for that process.
                    if has_turn and find_mismatch(self._engine, self._embedder) is None:
                        embed_pending(self._engine, self._embedder, should_stop=self._is_late)
            except ClosedError:
                return  # The program ends without closing the store; the next process embeds the rest.
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
    """
    descriptor = system().open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
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
