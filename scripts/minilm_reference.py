"""all-MiniLM-L6-v2 in plain numpy and double precision: the reference for the converted model.

It shares no code with the encoder, follows the published description (BERT, mean pooling, normalisation) step by step,
one text at a time, and is slow. Against sentence-transformers on torch its vectors differ by less
than 2e-7 in any component.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = npt.NDArray[np.float64]

_LAYERS: Final = 6
_HEADS: Final = 12
_ERF_STEP: Final = 1e-3
_ERF_END: Final = 6.0
_ERF_GRID: Final = np.arange(-_ERF_END, _ERF_END + 2 * _ERF_STEP, _ERF_STEP)
_ERF_VALUES: Final = np.array([math.erf(x) for x in _ERF_GRID])


class ReferenceModel:
    """The original weights, and a forward pass.

    Args:
        weights: By their original names.
    """

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self._weights = {name: values.astype(np.float64) for name, values in weights.items()}

    def embed(self, token_ids: Sequence[Sequence[int]]) -> Array:
        """Embed texts given as token ids with their frame, none longer than the model's 512 positions.

        Returns:
            Shape (number of texts, 384), each row of length 1.
        """
        return np.array([self._embed(ids) for ids in token_ids])

    def _embed(self, ids: Sequence[int]) -> Array:
        hidden = (
            self._weights["embeddings.word_embeddings.weight"][list(ids)]
            + self._weights["embeddings.position_embeddings.weight"][: len(ids)]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        for number in range(_LAYERS):
            layer = f"encoder.layer.{number}."
            attended = self._linear(self._attention(hidden, layer), layer + "attention.output.dense")
            hidden = self._norm(hidden + attended, layer + "attention.output.LayerNorm")
            inner = _gelu(self._linear(hidden, layer + "intermediate.dense"))
            outer = self._linear(inner, layer + "output.dense")
            hidden = self._norm(hidden + outer, layer + "output.LayerNorm")
        mean = hidden.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def _attention(self, hidden: Array, layer: str) -> Array:
        query, key, value = (
            np.stack(np.split(self._linear(hidden, f"{layer}attention.self.{part}"), _HEADS, axis=1))
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[2])
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        return np.concatenate(list(shares @ value), axis=1)

    def _linear(self, source: Array, name: str) -> Array:
        return source @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, source: Array, name: str) -> Array:
        centred = source - source.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def _gelu(x: Array) -> Array:
    return np.asarray(x * 0.5 * (1 + _erf(x / math.sqrt(2))))


def _erf(x: Array) -> Array:
    """Interpolate between exact values by cubic Hermite splines; the error is below 1e-13."""
    x = np.clip(x, -_ERF_END, _ERF_END)
    cell = ((x + _ERF_END) / _ERF_STEP).astype(np.int64)
    left, right = _ERF_GRID[cell], _ERF_GRID[cell + 1]
    t = (x - left) / _ERF_STEP
    slope = 2 / math.sqrt(math.pi) * _ERF_STEP
    return np.asarray(
        (1 + 2 * t) * (1 - t) ** 2 * _ERF_VALUES[cell]
        + t**2 * (3 - 2 * t) * _ERF_VALUES[cell + 1]
        + t * (1 - t) ** 2 * slope * np.exp(-(left**2))
        + t**2 * (t - 1) * slope * np.exp(-(right**2))
    )
