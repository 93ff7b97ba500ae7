"""Interval of a share that was estimated from a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

Z_95: Final = 1.959964
"""Quantile of the normal distribution for a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Share:
    """A number of successes in a number of trials."""

    successes: int
    trials: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1, or None without trials."""
        return self.successes / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %; 0 to 1 without trials."""
        return wilson(self.successes, self.trials)

    def __str__(self) -> str:
        if self.value is None:
            return "none of none"
        low, high = self.interval
        return f"{self.successes} of {self.trials} = {self.value:.0%} (95 %: {low:.0%} to {high:.0%})"


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's score interval of 95 % for a share.

    Unlike the normal approximation, it stays within 0 and 1 and is usable for small samples.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials are impossible")
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    scale = 1 + Z_95**2 / trials
    centre = (share + Z_95**2 / (2 * trials)) / scale
    half = Z_95 * math.sqrt(share * (1 - share) / trials + Z_95**2 / (4 * trials**2)) / scale
    # At a share of 0 or 1, rounding could move the end slightly beyond it.
    return max(0.0, centre - half), min(1.0, centre + half)
