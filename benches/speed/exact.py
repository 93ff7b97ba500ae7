"""Exact nearest neighbours by numpy, against which the recall of every engine is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .data import Dataset, Query
    from .peers.base import Operation

CHUNK: Final = 50_000


def nearest(dataset: Dataset, operation: Operation, k: int) -> list[set[int]]:
    """Return the rows of the true ``k`` nearest memories of each query of a vector operation."""
    if operation == "vector_filtered":
        rows = dataset.rare_rows()
        return _nearest(dataset.vectors()[rows], rows, dataset.queries("rare"), k)
    return _nearest(dataset.vectors(), np.arange(dataset.shape.n), dataset.queries("general"), k)


def _nearest(vectors: NDArray[np.float32], rows: NDArray[np.int64], queries: Sequence[Query], k: int) -> list[set[int]]:
    questions = np.stack([query.vector for query in queries])
    best_scores = np.full((len(queries), 0), 0, dtype=np.float32)
    best_rows = np.full((len(queries), 0), 0, dtype=np.int64)
    for start in range(0, len(vectors), CHUNK):
        scores = questions @ vectors[start : start + CHUNK].T
        count = min(k, scores.shape[1])
        top = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        best_scores = np.hstack([best_scores, np.take_along_axis(scores, top, axis=1)])
        best_rows = np.hstack([best_rows, rows[start + top]])
    order = np.argsort(-best_scores, axis=1)[:, :k]
    return [set(chosen.tolist()) for chosen in np.take_along_axis(best_rows, order, axis=1)]


def recall(answers: Sequence[Sequence[int]], truth: Sequence[set[int]]) -> float:
    """Return the mean share of the true neighbours that the answers hold."""
    return float(np.mean([len(set(rows) & true) / len(true) for rows, true in zip(answers, truth, strict=True)]))


def found(answers: Sequence[Sequence[int]], queries: Sequence[Query]) -> float:
    """Return the share of queries whose own memory is among the answers."""
    return float(np.mean([query.source in rows for rows, query in zip(answers, queries, strict=True)]))
