"""How much each feature of a sentence counts: a table in ``weights.json``, and the sums over it.

The table is fitted to labelled sentences (``scripts/fit_extraction.py``), which are in the repository; it is text that can be read,
and every candidate can say which features spoke for it. A sentence is judged twice: is it worth keeping, and if so, as what.
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
"""From this strength on the cues of a kind say themselves what a sentence is."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the sums say of a sentence.

    Attributes:
        confidence: 0 to 1: how likely it is worth keeping.
        category: What it is then.
        reasons: What spoke for it most, strongest first.
    """

    confidence: float
    category: Category
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The weights for one kind of speaker."""

    keep: Mapping[str, float]
    bias: float
    categories: Mapping[str, tuple[float, Mapping[str, float]]]

    def judge(self, found: Mapping[str, float]) -> Judgement:
        """Sum up."""
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
    """Return the weights for what an agent says, or a person."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    found = json.loads(text)["agent" if is_agent else "person"]
    return Table(
        keep=found["keep"]["weights"],
        bias=found["keep"]["bias"],
        categories={name: (one["bias"], one["weights"]) for name, one in found["categories"].items()},
    )


def name_rule(judgement: Judgement) -> str:
    """Name the rule that found something: the cue that counted most, or the word."""
    by_name = [reason for reason in judgement.reasons if reason.startswith(_NAMED)]
    return (by_name or list(judgement.reasons) or ["words"])[0].removeprefix("cue ")
