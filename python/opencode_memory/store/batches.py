"""Writes a batch of new memories in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from opencode_memory.models import NewMemory, RememberResult
from opencode_memory.store import records
from opencode_memory.store.work_trees import WorkTrees

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.store.embedding_queue import EmbeddingQueue


def write_batch(
    engine: Engine,
    queue: EmbeddingQueue,
    batch: Sequence[NewMemory | Mapping[str, Any]],
    *,
    project: str | None,
    zone: tzinfo | None,
    work_trees: WorkTrees,
) -> list[RememberResult]:
    """Write a batch, and wake the thread that embeds.

    Args:
        engine: The engine of the store.
        queue: The thread that embeds new memories.
        batch: The memories; see ``MemoryStore.remember_many``.
        project: The project of a memory that names neither project nor scope.
        zone: Zone of times that name none.
        work_trees: The work trees of the client.

    Returns:
        One result for each memory, in order.
    """
    convert = partial(records.new_memory, project=project, now_ms=engine.now_ms(), zone=zone, work_trees=work_trees)
    results = engine.remember_many([convert(memory) for memory in batch])
    queue.notify()
    return [records.remember_result(*found) for found in results]
