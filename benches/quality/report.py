"""Renders the figures of a run by set and category, as text of 100 columns or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np

from .asking import Answered
from .metrics import (
    ALL_5,
    ALL_10,
    METRICS,
    MRR,
    NDCG_10,
    RECALL_5,
    RECALL_10,
    SESSION_FIRST,
    SESSION_HIT_5,
    SESSION_HIT_10,
    SESSION_RECALL_10,
)
from .results import QuestionResult

LABELS: Final = {
    RECALL_5: "R@5",
    RECALL_10: "R@10",
    ALL_5: "A@5",
    ALL_10: "A@10",
    SESSION_RECALL_10: "sR@10",
    SESSION_HIT_10: "sH@10",
    SESSION_HIT_5: "sH@5",
    SESSION_FIRST: "sH@1",
    MRR: "MRR",
    NDCG_10: "nDCG",
}
LEGEND: Final = (
    "R@k: share of the evidence among the first k hits; sR@10: the same of sessions;\n"
    "A@k: questions with all evidence among the first k hits; sH@10: whether any of\n"
    "the sessions is there; sH@5, sH@1: among the first 5 sessions, or the first;\n"
    "nDCG: of the first 10; all in percent"
)
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """Questions without an answer: the number of empty answers, and the mean number of hits."""

    questions: int
    empty: int
    mean_hits: float


@dataclass(frozen=True, slots=True)
class SetFigures:
    """Figures of one set.

    Attributes:
        title: The set.
        categories: Number of questions with evidence and the mean of each metric, by category; ``ALL`` comes first.
        empty: Number of empty answers to these questions.
        unjudged: Questions left out because the set names no evidence.
        unanswerable: Questions without an answer.
        recall_ms: Median and 95th percentile of the time of one recall, with a given query vector.
        seconds: Total time, including embedding and writing.
    """

    title: str
    categories: dict[str, tuple[int, dict[str, float]]]
    empty: int
    unjudged: int
    unanswerable: Unanswerable
    recall_ms: tuple[float, float]
    seconds: float


def figures(title: str, answered: Sequence[Answered], seconds: float) -> SetFigures:
    """Summarise the results."""
    results = [answer.result for answer in answered]
    answerable = [result for result in results if result.is_answerable]
    judged = [result for result in answerable if result.metrics]
    without = [result for result in results if not result.is_answerable]
    names = sorted({result.category for result in judged})
    times = [1000 * answer.seconds for answer in answered]
    return SetFigures(
        title=title,
        categories={
            ALL: _means(judged),
            **{name: _means([result for result in judged if result.category == name]) for name in names},
        },
        empty=sum(not result.hits for result in judged),
        unjudged=len(answerable) - len(judged),
        unanswerable=Unanswerable(
            questions=len(without),
            empty=sum(not result.hits for result in without),
            mean_hits=fmean(min(len(result.hits), 10) for result in without) if without else 0.0,
        ),
        recall_ms=(float(np.percentile(times, 50)), float(np.percentile(times, 95))),
        seconds=seconds,
    )


def as_text(measured: Iterable[SetFigures]) -> str:
    """Write figures as tables."""
    return "\n\n".join([*map(_table, measured), LEGEND])


def as_json(measured: Iterable[SetFigures]) -> dict[str, Any]:
    """Return figures as JSON values, by set; metrics from 0 to 1."""
    return {
        figures_of_set.title: {
            "categories": {name: {"questions": n, **means} for name, (n, means) in figures_of_set.categories.items()},
            "empty": figures_of_set.empty,
            "unjudged": figures_of_set.unjudged,
            "unanswerable": {
                "questions": figures_of_set.unanswerable.questions,
                "empty": figures_of_set.unanswerable.empty,
                "mean_hits": figures_of_set.unanswerable.mean_hits,
            },
            "recall_ms": {"median": figures_of_set.recall_ms[0], "p95": figures_of_set.recall_ms[1]},
            "seconds": figures_of_set.seconds,
        }
        for figures_of_set in measured
    }


def _means(results: Sequence[QuestionResult]) -> tuple[int, dict[str, float]]:
    return len(results), {name: fmean(result.metrics[name] for result in results) for name in METRICS if results}


def _table(one: SetFigures) -> str:
    lines = [f"{one.title:25}{'n':>5}" + "".join(f"{LABELS[name]:>7}" for name in METRICS)]
    for category, (n, means) in one.categories.items():
        lines.append(f"  {category:23}{n:5}" + "".join(f"{100 * mean:7.1f}" for mean in means.values()))
    lines.append(f"  {one.empty} of these answers came back empty")
    if one.unjudged:
        lines.append(f"  {one.unjudged} more name no evidence and are not judged")
    nothing = one.unanswerable
    if nothing.questions:
        lines.append(
            f"  without an answer: {nothing.questions}, of which {nothing.empty} came back empty; "
            f"{nothing.mean_hits:.1f} hits on average"
        )
    lines.append(
        f"  a recall: median {one.recall_ms[0]:.2f} ms, p95 {one.recall_ms[1]:.2f} ms; in all {one.seconds:.0f} s"
    )
    return "\n".join(lines)
