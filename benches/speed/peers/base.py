"""Protocol of all engines, with shared HNSW parameters, and rank fusion for engines without their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Memory, Query

Operation = Literal["vector", "vector_filtered", "hybrid", "hybrid_project", "lexical"]
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)

Foreign = Any
"""An object of a peer's library; those libraries have no types, or types that depend on what is installed."""

# The same graph for all, wherever an engine lets one choose it.
CONNECTIVITY: Final = 16
EF_CONSTRUCTION: Final = 128
EF_SEARCH: Final = 64

FUSION_DEPTH: Final = 50
RRF_K: Final = 60


class Peer(Protocol):
    """One engine with one store in one directory.

    Answers are hydrated: the text and the metadata of each memory, not only its key. An engine lists its
    operations in ``operations`` and does not override the others.
    """

    operations: frozenset[Operation]
    configuration: str
    """How the engine is set up, in a few words, for the report."""

    def __init__(self, directory: Path) -> None:
        """Keep the path of the store; do not open it."""

    def build(self, batches: Iterable[Batch]) -> None:
        """Make the store, with all its indexes complete, and close it."""
        raise NotImplementedError

    def open(self) -> None:
        """Open the finished store."""
        raise NotImplementedError

    def vector(self, query: Query, k: int) -> list[Memory]:
        """Return the ``k`` memories nearest to the query's vector."""
        raise NotImplementedError

    def vector_filtered(self, query: Query, k: int) -> list[Memory]:
        """Return the ``k`` nearest of the query's project."""
        raise NotImplementedError

    def lexical(self, query: Query, k: int) -> list[Memory]:
        """Return the ``k`` best by BM25; any of the query's words may match."""
        raise NotImplementedError

    def hybrid(self, query: Query, k: int) -> list[Memory]:
        """Return the ``k`` best by words and vector together."""
        raise NotImplementedError

    def hybrid_project(self, query: Query, k: int) -> list[Memory]:
        """Return the ``k`` best of the query's project by words and vector together."""
        raise NotImplementedError

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:
        """Add one memory; when this returns, the engine has acknowledged it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the store."""
        raise NotImplementedError


def fused(rankings: Sequence[Sequence[int]], k: int) -> list[int]:
    """Fuse rankings by reciprocal rank (Cormack, Clarke and Büttcher 2009), for engines that leave it to the caller.

    Args:
        rankings: Rows, best first, one list per signal.
        k: How many rows to return.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:k]
