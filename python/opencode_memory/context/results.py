"""Results of a recall as a reader gets them: the newest statement of a subject first, earlier ones folded into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opencode_memory.context.folding import fold_hits
from opencode_memory.models import Hit, Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Result:
    """A hit for a reader.

    Attributes:
        hit: The hit; its rank counts the results.
        before: Earlier statements on its subject, newest first. They are named, not shown in full.
    """

    hit: Hit
    before: tuple[Memory, ...] = ()

    @property
    def memory(self) -> Memory:
        """The memory of the hit."""
        return self.hit.memory


def present(store: MemoryStore, hits: Sequence[Hit]) -> list[Result]:
    """Arrange the hits of a recall for a reader."""
    folded = fold_hits(hits, store.earlier([hit.memory.id for hit in hits]))
    return [Result(replace(hit, rank=rank), before) for rank, (hit, before) in enumerate(folded, start=1)]
