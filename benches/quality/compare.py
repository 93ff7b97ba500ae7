"""Compare two runs question by question: ``python -m benches.quality.compare BEFORE.jsonl AFTER.jsonl``.

``benches.quality.run --out`` writes the files. A positive difference is an improvement; p comes from a paired sign-flip
test. Among several metrics and sets some differ by chance, so look for p well below 0.05.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Any

from .comparison import Comparison, Loss, MetricComparison, SetComparison, compare
from .conversations import DataError
from .data_sets import QUESTION_SETS
from .metrics import EMPTY, METRICS, NDCG_10
from .report import LABELS, LEGEND
from .results import read_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two runs and print the result. Return 2 if a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.compare", description=__doc__)
    parser.add_argument("before", type=Path, help="the run to compare with")
    parser.add_argument("after", type=Path, help="the run to judge")
    parser.add_argument("--by", choices=METRICS, default=NDCG_10, help="rank losses by this (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    options = parser.parse_args(arguments)
    try:
        found = compare(read_results(options.before), read_results(options.after), by=options.by)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(found), indent=1) if options.json else as_text(found, by=options.by))
    return 0


def as_text(found: Comparison, *, by: str) -> str:
    """Write a comparison as tables of 80 columns."""
    parts = [_table(comparison, by) for comparison in found.sets]
    if found.left_out:
        parts.append(f"{found.left_out} questions are in one run only, or have other evidence; left out")
    return "\n\n".join([*parts, LEGEND])


def as_json(found: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values; metrics from 0 to 1."""
    return {
        "left_out": found.left_out,
        "sets": {
            comparison.set: {
                "answerable": comparison.answerable,
                "unanswerable": comparison.unanswerable,
                "metrics": {
                    metric.metric: {
                        name: value
                        for name, value in (asdict(metric) | {"difference": metric.difference}).items()
                        if name != "metric"
                    }
                    for metric in comparison.metrics
                },
                "worst": [
                    {
                        "conversation": loss.result.conversation,
                        "question": loss.result.question,
                        "category": loss.result.category,
                        "text": loss.result.text,
                        "before": loss.before,
                        "after": loss.after,
                    }
                    for loss in comparison.worst
                ],
            }
            for comparison in found.sets
        },
    }


def _table(comparison: SetComparison, by: str) -> str:
    title = QUESTION_SETS[comparison.set].title if comparison.set in QUESTION_SETS else comparison.set
    lines = [
        f"{title}: {comparison.answerable} questions with evidence, {comparison.unanswerable} without an answer",
        f"  {'':8}{'before':>8}{'after':>8}{'diff':>8}{'p':>9}{'wins':>8}{'losses':>8}{'ties':>8}",
        *map(_row, comparison.metrics),
    ]
    if comparison.worst:
        lines += [f"  worst by {LABELS[by]}", *map(_loss, comparison.worst)]
    return "\n".join(lines)


def _row(metric: MetricComparison) -> str:
    label = LABELS.get(metric.metric, EMPTY)
    figures = f"{100 * metric.before:8.1f}{100 * metric.after:8.1f}{100 * metric.difference:+8.1f}"
    return f"  {label:8}{figures}{metric.p:9.4f}{metric.wins:8}{metric.losses:8}{metric.ties:8}"


def _loss(loss: Loss) -> str:
    head = f"    {100 * loss.before:5.1f} > {100 * loss.after:5.1f}  {loss.result.question}  "
    return head + shorten(loss.result.text, max(80 - len(head), 20), placeholder="…")


if __name__ == "__main__":
    sys.exit(main())
