"""Chooses the embedder of memories: the one that the configuration names, or the one that made the vectors."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencode_memory.embedding.budget import CountedEmbedder

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder
    from opencode_memory.embedding.budget import TokenBudget


class EmbedderChoice:
    """The embedders that a process has. Vectors of different models are never compared, so the store decides.

    Args:
        engine: The engine of the store.
        wanted: The embedder that the configuration names; None for the bundled model, which is loaded when it is first
            needed.
        others: Embedders that may have made the vectors of the store.
    """

    def __init__(self, engine: Engine, wanted: Embedder | None, others: Sequence[Embedder] = ()) -> None:
        self._engine = engine
        self._wanted = wanted
        self._others = tuple(others)
        self._lock = threading.Lock()

    def wanted(self) -> Embedder:
        """Return the embedder that the configuration names."""
        with self._lock:
            if self._wanted is None:
                from opencode_memory.embedding import BundledEmbedder  # noqa: PLC0415  loads nothing until it embeds

                self._wanted = BundledEmbedder()
            return self._wanted

    def budget(self) -> TokenBudget | None:
        """Return the budget of the embedders that cost tokens; None if none has a limit. Loads no model."""
        for embedder in (self._wanted, *self._others):
            if isinstance(embedder, CountedEmbedder) and embedder.budget is not None:
                return embedder.budget
        return None

    def fitting(self) -> Embedder | None:
        """Return the embedder of the model of the stored vectors; None if this process does not have it.

        A store without vectors fits the embedder that the configuration names.
        """
        active = self._engine.active_model()
        return self.wanted() if active is None else self._of_model(active)

    def next(self) -> Embedder | None:
        """Return the embedder to which the store is being changed; None if there is no change, or no such embedder."""
        change = self._engine.model_change()
        return None if change is None else self._of_model((change[0], change[1]))

    def mismatch(self) -> str | None:
        """Return why no embedder can be used for queries, and what to do; None if one can.

        Raises:
            EmbeddingError: The bundled model is not installed.
        """
        return self.for_queries()[1]

    def for_queries(self) -> tuple[Embedder | None, str | None]:
        """Return the embedder for queries, or why none can be used, as ``mismatch`` does.

        Both are None for a store without vectors.

        Raises:
            EmbeddingError: The bundled model is not installed.
        """
        active = self._engine.active_model()
        if active is None:
            return None, None
        embedder = self._of_model(active)
        if embedder is not None:
            return embedder, None
        return None, (
            f"the store's vectors were made by {active[0]} ({active[1]} dimensions), but the embedder here is "
            f"{self.wanted().model_id}; memories are found by full-text search only until `opencode-memory reindex` "
            "embeds them again"
        )

    def _of_model(self, model: tuple[str, int]) -> Embedder | None:
        for embedder in (self.wanted(), *self._others):
            if (embedder.model_id, embedder.dimension) == model:
                return embedder
        return None
