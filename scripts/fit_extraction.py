"""Fit the weights of extraction to labelled sentences: ``python scripts/fit_extraction.py``.

Fits two logistic regressions for each kind of speaker: whether a sentence is worth keeping, and its category. Plain
gradient descent needs only numpy and gives the same result everywhere. The script reads all of
``tests/data/extraction`` except ``frozen.jsonl``, which measures the result. ``--check N`` fits on all but every N-th
turn instead, and prints the quality on the rest.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from opencode_memory.learning.extraction.features import extract_features
from opencode_memory.learning.extraction.statements import iterate_readings

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "extraction"
TARGET = ROOT / "python" / "opencode_memory" / "learning" / "extraction" / "weights.json"
SEEN_AT_LEAST = 3
STEPS = 500
KEPT_FROM = 0.05

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Labelled:
    """A sentence with its features and its correct categories; it has no category if it is not worth keeping."""

    turn: int
    is_agent: bool
    text: str
    found: dict[str, float]
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """Weights by the names of features."""

    names: list[str]
    weights: Floats
    bias: Floats


Turn = tuple[str, str]
"""Speaker and text."""


def sequences() -> Iterator[tuple[list[Turn], list[dict[str, Any]]]]:
    """Yield the turns of each sequence and its expected memories."""
    for name in ("turns.jsonl", "plain.jsonl"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            yield [(turn.get("role", "user"), turn["text"])], turn["expected"]
    for name in ("practice.jsonl", "tuning.jsonl"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            sequence = json.loads(line)
            said = [
                (event["type"], event["text"])
                for session in sequence["sessions"]
                for event in session["events"]
                if event["type"] in {"user", "assistant"}
            ]
            yield said, sequence["expected"]


def labelled() -> Iterator[Labelled]:
    """Yield every sentence that may contain a statement.

    Sentences with optional memories are left out. If several sentences contain the words of one expected memory, the
    user's longest sentence is labelled with it, and the others are left out because they only mention it.
    """
    for number, (said, expected) in enumerate(sequences()):
        found = [(role, reading) for role, text in said for reading in iterate_readings(text)]
        states: dict[int, list[dict[str, Any]]] = {}
        mentions: set[int] = set()
        for one in expected:
            fitting = [at for at, (_, reading) in enumerate(found) if _says(reading.sentence.text, one)]
            mentions.update(fitting)
            if fitting and not one.get("optional"):
                best = max(fitting, key=lambda at: (found[at][0] == "user", len(found[at][1].sentence.text)))
                states.setdefault(best, []).append(one)
        for at, (role, reading) in enumerate(found):
            if at in mentions and at not in states:
                continue
            categories = tuple(dict.fromkeys(name for one in states.get(at, ()) for name in one["category"]))
            is_agent = role == "assistant"
            yield Labelled(
                number, is_agent, reading.sentence.text, extract_features(reading, is_agent=is_agent), categories
            )


def _says(text: str, expected: dict[str, Any]) -> bool:
    lower = text.lower()
    groups = [[one] if isinstance(one, str) else one for one in expected["all"]]
    return all(any(word.lower() in lower for word in group) for group in groups)


def matrix(rows: Sequence[Labelled], names: Sequence[str]) -> Floats:
    """Return the features of sentences as rows."""
    at = {name: number for number, name in enumerate(names)}
    found = np.zeros((len(rows), len(names)), dtype=np.float32)
    for number, row in enumerate(rows):
        for name, value in row.found.items():
            if name in at:
                found[number, at[name]] = value
    return found


def fit(rows: Sequence[Labelled], targets: Floats, penalty: float) -> Fitted:
    """Fit one linear score for each column of ``targets``, whose rows are probabilities."""
    counts = Counter(name for row in rows for name in row.found)
    names = sorted(name for name, count in counts.items() if count >= SEEN_AT_LEAST)
    data = matrix(rows, names)
    weights = np.zeros((len(names), targets.shape[1]), dtype=np.float32)
    bias = np.zeros(targets.shape[1], dtype=np.float32)
    momentum, speed = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        sums = data @ weights + bias
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        off = (shares - targets) / len(rows)
        slope = data.T @ off + penalty * weights / len(rows)
        momentum = 0.9 * momentum + 0.1 * slope
        speed = 0.999 * speed + 0.001 * slope**2
        weights -= 0.05 * (momentum / (1 - 0.9**step)) / (np.sqrt(speed / (1 - 0.999**step)) + 1e-8)
        bias -= 0.5 * off.sum(axis=0)
    return Fitted(names, weights, bias)


def fitted_table(rows: Sequence[Labelled], penalty: float) -> dict[str, Any]:
    """Return both regressions for one kind of speaker, in the format of ``weights.py``."""
    keep = np.array([[not row.categories, bool(row.categories)] for row in rows], dtype=float)
    kept = fit(rows, keep, penalty)
    table: dict[str, Any] = {
        "keep": {
            "bias": round(float(kept.bias[1] - kept.bias[0]), 3),
            "weights": _named(kept.names, kept.weights[:, 1] - kept.weights[:, 0]),
        }
    }
    worth = [row for row in rows if row.categories]
    categories = sorted({name for row in worth for name in row.categories})
    shares = np.array([[(name in row.categories) / len(row.categories) for name in categories] for row in worth])
    of_kind = fit(worth, shares, penalty)
    table["categories"] = {
        name: {
            "bias": round(float(of_kind.bias[column]), 3),
            "weights": _named(of_kind.names, of_kind.weights[:, column]),
        }
        for column, name in enumerate(categories)
    }
    return table


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {
        name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True) if abs(weight) >= KEPT_FROM
    }


def check(rows: Sequence[Labelled], every: int, penalty: float) -> None:
    """Fit on a part of the sentences and print the quality on the rest."""
    from opencode_memory.learning.extraction.weights import Table  # noqa: PLC0415  only here

    for is_agent in (False, True):
        judged: list[tuple[float, str, Labelled]] = []
        mine = [row for row in rows if row.is_agent == is_agent]
        for part in range(every):
            known, rest = ([row for row in mine if (row.turn % every == part) == held] for held in (False, True))
            found = fitted_table(known, penalty)
            categories = {name: (one["bias"], one["weights"]) for name, one in found["categories"].items()}
            table = Table(found["keep"]["weights"], found["keep"]["bias"], categories)
            for row in rest:
                judgement = table.judge(row.found)
                judged.append((judgement.confidence, str(judgement.category), row))
        worth = sum(bool(row.categories) for *_, row in judged)
        print("agent" if is_agent else "person", len(judged), "sentences,", worth, "worth keeping")
        for bar in (0.3, 0.4, 0.5, 0.55, 0.6, 0.7):
            over = [one for one in judged if one[0] >= bar]
            right = sum(bool(row.categories) for *_, row in over)
            same = sum(category in row.categories for _, category, row in over)
            print(
                f"  from {bar}: precision {right / len(over):.3f}, recall {right / worth:.3f}; "
                f"with the category {same / len(over):.3f}, {same / worth:.3f}"
            )


def main() -> None:
    """Write the weights, or check how well they generalise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=int, metavar="N", help="parts to judge by the others")
    parser.add_argument("--penalty", type=float, default=0.5, help="what large weights cost")
    given = parser.parse_args()
    rows = list(labelled())
    if given.check:
        check(rows, given.check, given.penalty)
        return
    tables = {
        name: fitted_table([row for row in rows if row.is_agent == is_agent], given.penalty)
        for name, is_agent in (("person", False), ("agent", True))
    }
    TARGET.write_text(json.dumps(tables, indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rows)} sentences; {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
