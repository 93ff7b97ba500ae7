"""Fit the weights by which hits are judged to the labelled messages: ``python -m scripts.fit_injection``.

Logistic regression by Newton's method, which needs only numpy and gives the same result everywhere. Each message is
queried three times: in its project, in a new project with ten memories, and in one with the memories of all projects.
The script prints the constants for ``context/relevance.py``, and how well weights fitted to other projects work for a
project. It does not read the held-out half.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.injection import STORES, TUNINGS, Figures, Looked, bars, figures, look
from benches.quality.labelled_messages import messages
from opencode_memory.context.relevance import TUNED, Tuning, compute_features
from opencode_memory.embedding import BundledEmbedder

PENALTY = 1.0
STEPS = 50

Floats = npt.NDArray[np.floating[Any]]


def fit(looked: Sequence[Looked]) -> Tuning:
    """Fit the weights to the hits of messages; optional hits are left out."""
    rows: list[tuple[float, ...]] = []
    right: list[bool] = []
    for one in looked:
        for name, hit in zip(one.names, compute_features(one.query, one.hits), strict=True):
            if name not in one.message.also:
                rows.append(hit.features)
                right.append(name in one.message.relevant)
    data = np.array(rows)
    mean, spread = data.mean(axis=0), data.std(axis=0) + 1e-9
    scaled = np.c_[(data - mean) / spread, np.ones(len(rows))]
    target = np.array(right, dtype=float)
    sums = np.zeros(scaled.shape[1])
    penalty = np.diag([PENALTY] * (len(sums) - 1) + [1e-6])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ sums))
        slope: Floats = scaled.T @ (chance - target) + penalty @ sums
        curve = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + penalty
        sums -= np.linalg.solve(curve, slope)
    weights = sums[:-1] / spread
    bias = round(float(sums[-1] - weights @ mean), 2)
    return replace(TUNED, bias=bias, weights=tuple(round(float(weight), 2) for weight in weights))


def main() -> None:
    """Print the weights and how well they generalise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, help="keep vectors in this file from run to run")
    given = parser.parse_args()
    asked = messages("tuning")
    with CachedEmbedder.open(BundledEmbedder(), given.cache) as embedder:
        looked = {stores: look(asked, embedder, stores=stores) for stores in STORES}
    everything = [one for some in looked.values() for one in some]
    fitted_without = {
        project: fit([one for one in everything if one.message.project != project])
        for project in sorted({one.project for one in asked})
    }
    print("Judged by weights that were fitted to the other projects:")
    for stores, found in looked.items():
        for tried in TUNINGS:
            total = Figures()
            for project, fitted in fitted_without.items():
                by = replace(tried, bias=fitted.bias, weights=fitted.weights)
                total += figures((one for one in found if one.message.project == project), by=by)
            print(f"  {stores}, {bars(tried)}: {total}")
    print(f"Fitted to all of them: {fit(everything)}")


if __name__ == "__main__":
    main()
