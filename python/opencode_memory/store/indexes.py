"""Vectors and derived indexes of a store: computed, verified and rebuilt."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import CorruptStoreError, InvalidInputError
from opencode_memory.store import arguments
from opencode_memory.store.embedding_models import EmbeddingModels
from opencode_memory.store.reports import RebuildReport, RepairReport, VerifyReport

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Vector
    from opencode_memory.models import Memory
    from opencode_memory.store.embedding_queue import EmbeddingQueue

_OF_SQLITE: Final = re.compile(r"SQLite: .*\bindex\b")
"""Problem of an index of SQLite, which can be built again from the rows."""


class Indexes:
    """The vectors and indexes of a store; ``MemoryStore.indexes`` is one."""

    def __init__(self, engine: Engine, queue: EmbeddingQueue) -> None:
        self._engine = engine
        self._queue = queue
        self.models = EmbeddingModels(engine, queue)

    def mismatch(self) -> str | None:
        """Return why queries are answered by words alone; None if the embedder fits the vectors of the store."""
        return self._queue.mismatch()

    def embed_pending(self, *, progress: Callable[[int, int], None] | None = None, limit: int | None = None) -> int:
        """Embed memories that wait; return how many got their vectors.

        Args:
            progress: Called with the number of memories done, and of those that waited.
            limit: Embed at most so many.

        Raises:
            EmbeddingError: The model could not be loaded, or the store's vectors are of another model.
        """
        most = None if limit is None else arguments.count(limit, field="limit")
        return self._queue.embed(self._queue.matching_embedder(), progress=progress, limit=most)

    def embed_some(
        self, *, limit: int, skip: Collection[int] = (), on_failure: Callable[[int, Exception], None] | None = None
    ) -> int | None:
        """Embed some memories that wait, without comparing them; for a worker that has other jobs, too.

        Args:
            limit: Embed at most so many.
            skip: Keys of memories to leave out.
            on_failure: Called with the key of each memory that cannot be embedded, and the error; without it the error
                is raised.

        Returns:
            How many got their vectors; None if another process is embedding.

        Raises:
            EmbeddingError: The model could not be loaded, or the store's vectors are of another model.
        """
        most = arguments.count(limit, field="limit")
        _check_keys(skip, field="skip")
        return self._queue.embed_unless_busy(
            self._queue.matching_embedder(), limit=most, skip=skip, on_failure=on_failure
        )

    def vectors_of(self, ids: Sequence[str]) -> list[Vector | None]:
        """Return the vector of the first chunk of each memory, by full id; None for a memory that has none yet.

        Returns:
            Unit vectors of shape (dimension,), in the order of ``ids``.
        """
        return self._engine.vectors_of(arguments.texts(ids, field="ids"))

    def spread(self, query: str, memories: Sequence[Memory], *, known: Collection[str] = ()) -> list[float]:
        """Return how near each memory is to a query, also through the other memories.

        Unlike a recall, this also orders memories that share nothing with the query: two steps from it are better than
        three. If the query cannot be embedded, only words are compared.

        Args:
            query: The query; empty if only ``known`` counts.
            memories: The memories to order.
            known: Full ids of those that are near for another reason, such as having been found for another query.

        Returns:
            Numbers that can be compared within one call, in the order of ``memories``. 0 means that no link leads from
            the query to the memory.
        """
        asked = arguments.readable(query)
        vector = self._queue.embed_query(asked)
        given = arguments.memories(memories, field="memories")
        are_known = frozenset(arguments.texts(known, field="known"))
        places = [place for place, memory in enumerate(given) if memory.id in are_known]
        return self._engine.spread(asked, vector, [(one.key, one.content) for one in given], places)

    def waits_for_vectors(self, *, without: Collection[int] = (), key: int | None = None) -> bool:
        """Return whether a memory waits for its vectors.

        Args:
            without: Keys of memories that do not count.
            key: Only the memory with this key; None for any.
        """
        _check_keys(without, field="without")
        if key is not None:
            wanted = arguments.count(key, field="key", least=1)
            return [waiting for waiting, _ in self._engine.pending_embeddings(wanted - 1, 1)] == [wanted]
        pending = self._engine.pending_embeddings(0, len(without) + 1)
        return any(waiting not in without for waiting, _ in pending)

    def link_new(self) -> int:
        """Compare some memories that have new vectors with their neighbours; return how many, 0 if none is left."""
        return self._engine.compare_new()

    def catch_up(self, *, waits: bool = True) -> None:
        """Bring the indexes up to date with the store. Recalls are right without it, only slower.

        Args:
            waits: Whether to wait while another process writes the indexes, for up to two minutes.

        Raises:
            BusyError: Another process writes the indexes.
        """
        if waits:
            self._engine.catch_up()
        else:
            self._engine.catch_up_at_once()

    def reindex(self, *, progress: Callable[[str, int, int], None] | None = None) -> RebuildReport:
        """Rebuild the indexes, and embed memories that have no vectors of the embedder's model.

        Texts that are embedded already are not embedded again, unless the model changed. Recall goes on with the former
        vectors meanwhile if an embedder of their model is here.

        Args:
            progress: Called with a stage (``embeddings``, ``words``, ``vectors``), how much is done, and of how much.
        """

        def report_embedding(done: int, total: int) -> None:
            if progress is not None:
                progress("embeddings", done, total)

        if self.models.differs() and self._queue.mismatch() is None:
            embedded = self.models.change(progress=report_embedding)
        else:
            embedded = self._queue.embed(self._queue.choice.wanted(), progress=report_embedding)
        report = self._engine.rebuild_indexes(progress)
        return RebuildReport(texts=report["lexical_added"], vectors=report["vectors_added"], embedded=embedded)

    def finish(self, *, seconds: float) -> int:
        """End the embedding in the background of this store, which is about to be closed.

        Args:
            seconds: Time after which the rest is left to other processes.

        Returns:
            How many memories still wait for their vectors, if this store has written; 0 otherwise.
        """
        has_written = self._queue.close(seconds=seconds)
        waiting = self.count_pending()
        return waiting if has_written else 0

    def count_pending(self) -> int:
        """Return the number of memories without vectors of the store's model. Does not load a model."""
        return self._engine.count_pending_embeddings()

    def verify(self) -> VerifyReport:
        """Check the store, the lexical index and the vectors."""
        report = self._engine.verify()
        return VerifyReport(
            memories=report["memories"],
            lexical_documents=report["lexical_documents"],
            graph_vectors=report["graph_vectors"],
            store_problems=tuple(report["store_problems"]),
            index_problems=tuple(report["index_problems"]),
            pending_embeddings=self._queue.count_pending(),
        )

    def repair(self, *, progress: Callable[[str, int, int], None] | None = None) -> RepairReport:
        """Rebuild damaged indexes, SQLite's own ones as well. Damage of rows is only reported."""
        found = self.verify()
        rebuilt, has_changed = None, False
        if any(_OF_SQLITE.match(problem) for problem in found.store_problems):
            with suppress(CorruptStoreError):  # The rows are damaged as well, so the problems remain.
                self._engine.rebuild_store_indexes()
                has_changed = True
        if found.index_problems:
            report = self._engine.rebuild_indexes(progress)
            rebuilt = RebuildReport(texts=report["lexical_added"], vectors=report["vectors_added"], embedded=0)
            has_changed = True
        remaining = self.verify() if has_changed else found
        return RepairReport(found=tuple(found.problems), remaining=tuple(remaining.problems), rebuilt=rebuilt)


def _check_keys(keys: object, *, field: str) -> None:
    if isinstance(keys, str) or not isinstance(keys, Collection):
        raise InvalidInputError(f"{field}: must be keys, not {type(keys).__name__}", field=field)
