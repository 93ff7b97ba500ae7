"""Quality of learning on labelled sessions: floors slightly below the measured values."""

from __future__ import annotations

import pytest

from benches.quality.extraction import judged
from benches.quality.labelled_sessions import labels, read


@pytest.mark.parametrize(
    ("name", "precision", "recall"),
    [("frozen", 0.88, 0.66), ("tuning", 0.93, 0.9), ("practice", 0.88, 0.86)],
)
def test_precision_and_recall_on_labelled_sessions_stay_above_the_floor(
    name: str, precision: float, recall: float
) -> None:
    score = judged(list(read(name)))
    assert score.precision >= precision
    assert score.recall >= recall


@pytest.mark.parametrize("name", ["frozen", "tuning"])
def test_half_of_the_labelled_sequences_have_no_expected_memory(name: str) -> None:
    sequences = list(read(name))
    empty = [one for one in sequences if not labels([one])]
    assert (len(sequences), len(empty)) == (60, 30)


@pytest.mark.parametrize("name", ["frozen", "tuning"])
def test_sessions_without_expected_memories_yield_hardly_any(name: str) -> None:
    score = judged([one for one in read(name) if not labels([one])])
    assert score.clean >= 28
