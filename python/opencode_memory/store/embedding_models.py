"""The embedding model of a store, and its change to another one; ``MemoryStore.indexes.models``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opencode_memory.embedding.budget import CountedEmbedder, count_tokens, most_tokens
from opencode_memory.errors import EmbeddingBudgetError, EmbeddingError
from opencode_memory.store import arguments, calibration, model_change
from opencode_memory.store.embedding_queue import embedding_turn
from opencode_memory.store.token_ledger import StoredTokens

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.embedding.base import Embedder
    from opencode_memory.embedding.budget import BudgetStatus
    from opencode_memory.store.embed import Progress
    from opencode_memory.store.embedding_queue import EmbeddingQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """The embedding models of a store.

    Attributes:
        active: Model of the vectors that answer recalls; None before the first embedding.
        dimension: Length of these vectors; 0 before the first embedding.
        wanted: Model that the configuration names.
        next: Model to which the store is being changed; None if it is not.
        embedded: Memories that the next model has embedded; 0 without a change.
        memories: All memories.
        is_usable: Whether this process can embed queries with the active model.
        budget: Tokens of today, if embedding servers have a limit.
    """

    active: str | None
    dimension: int
    wanted: str
    next: str | None
    embedded: int
    memories: int
    is_usable: bool
    budget: BudgetStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEstimate:
    """Estimated cost of embedding all memories with another model.

    Attributes:
        memories: Number of memories.
        seconds: Time; 0 without memories, None if the budget of tokens does not suffice for a sample.
        tokens: Tokens that the server gets; None if they have no limit.
    """

    memories: int
    seconds: float | None
    tokens: int | None


class EmbeddingModels:
    """The embedding model of a store."""

    def __init__(self, engine: Engine, queue: EmbeddingQueue) -> None:
        self._engine = engine
        self._queue = queue

    def status(self) -> ModelStatus:
        """Return which model the vectors have, and how far a change is."""
        active = self._engine.active_model()
        change = self._engine.model_change()
        memories = self._engine.count_texts_to_embed(0)
        left = 0 if change is None else self._engine.count_texts_to_embed(change[2])
        return ModelStatus(
            active=None if active is None else active[0],
            dimension=0 if active is None else active[1],
            wanted=self._queue.choice.wanted().model_id,
            next=None if change is None else change[0],
            embedded=0 if change is None else max(0, memories - left),
            memories=memories,
            is_usable=self._queue.mismatch() is None,
            budget=self.budget(),
        )

    def budget(self) -> BudgetStatus | None:
        """Return how many tokens embedding servers got today; None if they have no limit. Loads no model."""
        budget = self._queue.choice.budget()
        return None if budget is None else budget.status()

    def count_tokens(self, embedder: Embedder) -> Embedder:
        """Return an embedder whose tokens count in this store, if it has a limit."""
        return count_tokens(embedder, StoredTokens(self._engine))

    def differs(self) -> bool:
        """Return whether the configuration names another model than that of the vectors."""
        active = self._engine.active_model()
        wanted = self._queue.choice.wanted()
        return active is not None and active != (wanted.model_id, wanted.dimension)

    def estimate(self, *, sample: int) -> ChangeEstimate:
        """Embed some memories with the configured model, to estimate what a change costs. Their vectors are not stored.

        Args:
            sample: Embed so many memories.

        Raises:
            EmbeddingError: The model fails.
        """
        most = arguments.count(sample, field="sample", least=1)
        memories = self._engine.count_texts_to_embed(0)
        every = self._engine.texts_to_embed(0, most)
        wanted = self._queue.choice.wanted()
        pieces = [piece for _, text in every for piece in wanted.chunk(text)]
        is_limited = isinstance(wanted, CountedEmbedder) and wanted.budget is not None
        if not pieces:
            return ChangeEstimate(memories=memories, seconds=0.0, tokens=0 if is_limited else None)
        share = memories / len(every)
        try:
            wanted.embed_query(pieces[0])  # Loads the model, which takes as long for few memories as for many.
            tokens_before = self._tokens_today()
            begun = time.monotonic()
            wanted.embed(pieces)
        except EmbeddingBudgetError:
            return ChangeEstimate(memories=memories, seconds=None, tokens=round(most_tokens(pieces) * share))
        seconds = (time.monotonic() - begun) * share
        # Below 0 if a day of UTC ended meanwhile.
        tokens = self._tokens_today() - tokens_before
        tokens = tokens if tokens > 0 else most_tokens(pieces)
        return ChangeEstimate(memories=memories, seconds=seconds, tokens=round(tokens * share) if is_limited else None)

    def _tokens_today(self) -> int:
        return self._engine.spent_tokens()[1]

    def is_calibrated(self) -> bool:
        """Return whether the limits of relevance fit the model of the vectors, as far as this process can tell."""
        embedder = self._queue.choice.fitting() if self._engine.active_model() is not None else None
        return embedder is None or calibration.is_calibrated(self._engine, embedder)

    def calibrate(self) -> None:
        """Measure the scale of the model of the vectors, unless that was done before.

        Raises:
            EmbeddingError: The model fails.
        """
        embedder = self._queue.choice.fitting() if self._engine.active_model() is not None else None
        if embedder is not None:
            calibration.calibrate(self._engine, embedder)

    def begin_change(self) -> None:
        """Begin a change to the model that the configuration names; a worker does it.

        Raises:
            ConflictError: The vectors are of this model already.
        """
        wanted = self._queue.choice.wanted()
        self._engine.begin_model_change(wanted.model_id, wanted.dimension)

    def change(self, *, progress: Progress | None = None) -> int:
        """Change to the model that the configuration names. Recall goes on with the former vectors until the end.

        Args:
            progress: Called with the number of memories done, and of all.

        Returns:
            How many memories have vectors of the new model.

        Raises:
            ConflictError: The vectors are of this model already, or the change was given up meanwhile.
            EmbeddingError: The model fails. What was embedded is kept, and the next call goes on.
        """
        wanted = self._queue.choice.wanted()
        with embedding_turn(self._queue.data_dir):
            model_change.stage(self._engine, wanted, progress=progress)
            return model_change.complete(self._engine, wanted)

    def can_go_on(self) -> bool:
        """Return whether a change was begun to a model that this process has."""
        return self._engine.model_change() is not None and self._queue.choice.next() is not None

    def go_on(self, *, limit: int) -> bool | None:
        """Go on with a change that was begun.

        Args:
            limit: Embed at most so many memories.

        Returns:
            Whether the change is complete; None if another process is embedding.

        Raises:
            ConflictError: The change was given up meanwhile.
            EmbeddingError: The model fails, or it is not here.
        """
        most = arguments.count(limit, field="limit", least=1)
        embedder: Embedder | None = self._queue.choice.next()
        if embedder is None:
            raise EmbeddingError("no change of the model was begun, or this process does not have the next model")
        with embedding_turn(self._queue.data_dir, give_up=lambda: True) as has_turn:
            if not has_turn:
                return None
            if not model_change.stage(self._engine, embedder, limit=most):
                return False
            model_change.complete(self._engine, embedder)
            return True

    def give_up_change(self) -> bool:
        """Give up a change; return whether there was one. The former vectors stay in use."""
        return self._engine.give_up_model_change()
