"""Tests whether a difference between two runs is more than chance, and computes intervals of figures.

Differences are tested by a sign-flip permutation of paired differences. Intervals come from a bootstrap: whole groups,
for example sessions, are drawn with replacement.

If two runs were equally good, the difference of each question could as well have the other sign. The p-value is the
share of random signs that give a mean at least as far from zero as the observed one. The seed is fixed, so the same
differences give the same p-value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

RESAMPLES: Final = 10_000
BOOTSTRAPS: Final = 1_000
SEED: Final = 20_260_321

_BLOCK: Final = 1_000
_LEVEL: Final = 0.95
_Part = TypeVar("_Part")
_ROUNDING: Final = 1e-9
"""Tolerance for sums of the same numbers in another order."""


def p_value(differences: npt.NDArray[np.float64]) -> float:
    """Return the two-sided p-value of paired differences, shape (questions,); 1 when there is no difference."""
    changed = differences[differences != 0]
    if not len(changed):
        return 1.0
    seen = abs(float(changed.sum())) - _ROUNDING
    rng = np.random.default_rng(SEED)
    as_far = 0
    for _ in range(RESAMPLES // _BLOCK):
        signs = rng.integers(0, 2, (_BLOCK, len(changed)), dtype=np.int8) * 2 - 1
        as_far += int(np.count_nonzero(np.abs(signs @ changed) >= seen))
    # The observed signs are one of the possibilities, so p is never 0.
    return (as_far + 1) / (RESAMPLES + 1)


def interval(parts: Sequence[_Part], figure: Callable[[Sequence[_Part]], float]) -> tuple[float, float]:
    """Return the bootstrap interval of 95 % of a figure.

    Args:
        parts: Results that are independent of each other, for example one for each session.
        figure: Computes the figure of some of them, of which one may occur several times.
    """
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, len(parts), (BOOTSTRAPS, len(parts)))
    found = [figure([parts[place] for place in row]) for row in drawn]
    low, high = np.quantile(found, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)
