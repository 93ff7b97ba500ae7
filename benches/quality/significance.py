"""Whether a difference between two runs is more than chance: a sign-flip permutation test of paired differences.

If two runs were equally good, each question's difference could as well have had the other sign. The p-value is the
share of random signs that give a mean at least as far from zero as the one seen. Seeded: the same differences give the
same p-value.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

RESAMPLES: Final = 10_000
SEED: Final = 20_260_321

_BLOCK: Final = 1_000
_ROUNDING: Final = 1e-9
"""Sums of the same numbers in another order may differ by this, and still count as equal."""


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
    # The signs as they were are one of the possibilities, so that p is never 0.
    return (as_far + 1) / (RESAMPLES + 1)
