"""Weights of features, loaded from ``weights.json``, and the scores computed from them.

The weights are fitted to labelled sentences in the repository (``scripts/fit_extraction.py``). They are readable text,
and each candidate names the features that counted most. A sentence gets two scores: whether it is worth keeping, and
its category.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from opencode_memory.models import Category

_FILE: Final = "weights.json"
_NAMED: Final = ("cue ", "is ")
_STRENGTH: Final = "strength "
_PLAIN_FROM: Final = 0.7
"""From this strength on, the cues of a category decide it without the fitted weights."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Scores of a sentence.

    Attributes:
        confidence: Probability that the sentence is worth keeping, 0 to 1.
        category: Its most likely category.
        reasons: Names of the features that counted most, strongest first.
    """

    confidence: float
    category: Category
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Weights for one kind of speaker."""

    keep: Mapping[str, float]
    bias: float
    categories: Mapping[str, tuple[float, Mapping[str, float]]]

    def judge(self, found: Mapping[str, float]) -> Judgement:
        """Compute the scores from the features of a sentence."""
        parts = {name: value * self.keep[name] for name, value in found.items() if name in self.keep}
        total = self.bias + sum(parts.values())
        sums = {
            category: bias + sum(value * weights[name] for name, value in found.items() if name in weights)
            for category, (bias, weights) in self.categories.items()
        }
        plain = {
            name.removeprefix(_STRENGTH): value
            for name, value in found.items()
            if name.startswith(_STRENGTH) and value >= _PLAIN_FROM
        }
        best = max(plain or sums, key=lambda category: (plain or sums)[category])
        reasons = sorted((name for name, part in parts.items() if part > 0), key=lambda name: -parts[name])
        return Judgement(1 / (1 + math.exp(-total)), Category(best), tuple(reasons))


@cache
def load_table(*, is_agent: bool) -> Table:
    """Return the weights for an agent's or a user's sentences."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    found = json.loads(text)["agent" if is_agent else "person"]
    return Table(
        keep=found["keep"]["weights"],
        bias=found["keep"]["bias"],
        categories={name: (one["bias"], one["weights"]) for name, one in found["categories"].items()},
    )


def name_rule(judgement: Judgement) -> str:
    """Return the name of the strongest cue; if there is none, of the strongest word."""
    by_name = [reason for reason in judgement.reasons if reason.startswith(_NAMED)]
    return (by_name or list(judgement.reasons) or ["words"])[0].removeprefix("cue ")
