"""Embedding in the foreground after a bulk write, with a bar, so that a person sees why it takes its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.progress import progress

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


def embed_what_waits(run: Invocation, store: MemoryStore) -> int:
    """Embed what waits for its vectors; interrupted, it goes on at the next run.

    Returns:
        How many memories got their vectors.
    """
    with progress("embedding", quiet=run.out.as_json) as show:
        return store.indexes.embed_pending(progress=show)
