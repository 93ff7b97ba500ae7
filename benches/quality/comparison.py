"""Compares two runs question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .metrics import EMPTY, METRICS
from .results import QuestionResult
from .significance import p_value

WORST: Final = 10

Pair = tuple[QuestionResult, QuestionResult]


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric: its mean in both runs, the p-value of the difference, and the numbers of wins and losses."""

    metric: str
    before: float
    after: float
    p: float
    wins: int
    losses: int
    ties: int

    @property
    def difference(self) -> float:
        """Improvement of the second run."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Loss:
    """A question that the second run answers worse by one metric."""

    result: QuestionResult
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class SetComparison:
    """Comparison of two runs on one set.

    Attributes:
        set: Name of the set.
        answerable: Questions with evidence in both runs, and their metrics.
        metrics: One comparison for each metric. If there are questions without an answer, the last one compares the
            share of empty answers to them.
        worst: The largest losses, largest first.
    """

    set: str
    answerable: int
    unanswerable: int
    metrics: tuple[MetricComparison, ...]
    worst: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two runs, without questions that only one run asked or that were judged by different evidence."""

    sets: tuple[SetComparison, ...]
    left_out: int


def compare(before: Sequence[QuestionResult], after: Sequence[QuestionResult], *, by: str) -> Comparison:
    """Compare two runs.

    Args:
        before: The run to compare with.
        after: The run to judge.
        by: The metric that ranks the losses.
    """
    of_key = {result.key: result for result in after}
    pairs = [
        (result, of_key[result.key])
        for result in before
        if result.key in of_key and _is_same(result, of_key[result.key])
    ]
    names = dict.fromkeys(result.set for result, _ in pairs)
    return Comparison(
        sets=tuple(_compare_set(name, [pair for pair in pairs if pair[0].set == name], by) for name in names),
        left_out=len({result.key for result in before} | set(of_key)) - len(pairs),
    )


def _is_same(result: QuestionResult, other: QuestionResult) -> bool:
    """Return whether two results belong to the same question and the same evidence."""
    return (result.text, result.turns, result.sessions, set(result.metrics)) == (
        other.text,
        other.turns,
        other.sessions,
        set(other.metrics),
    )


def _compare_set(name: str, pairs: Sequence[Pair], by: str) -> SetComparison:
    answerable = [pair for pair in pairs if by in pair[0].metrics]
    unanswerable = [pair for pair in pairs if EMPTY in pair[0].metrics]
    metrics = [_compare_metric(metric, answerable) for metric in METRICS if answerable]
    if unanswerable:
        metrics.append(_compare_metric(EMPTY, unanswerable))
    losses = [Loss(after, before.metrics[by], after.metrics[by]) for before, after in answerable]
    worst = sorted((loss for loss in losses if loss.after < loss.before), key=lambda loss: loss.after - loss.before)
    return SetComparison(name, len(answerable), len(unanswerable), tuple(metrics), tuple(worst[:WORST]))


def _compare_metric(metric: str, pairs: Sequence[Pair]) -> MetricComparison:
    values = np.array([[before.metrics[metric], after.metrics[metric]] for before, after in pairs])
    differences = values[:, 1] - values[:, 0]
    return MetricComparison(
        metric=metric,
        before=float(values[:, 0].mean()),
        after=float(values[:, 1].mean()),
        p=p_value(differences),
        wins=int(np.count_nonzero(differences > 0)),
        losses=int(np.count_nonzero(differences < 0)),
        ties=int(np.count_nonzero(differences == 0)),
    )
