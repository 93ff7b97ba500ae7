"""The weights of all-MiniLM-L6-v2 as the encoder in `rust/embed` reads them: a `safetensors` file.

Matrices and tables are stored in 16 bits, biases and the values of layer normalisations in 32. A matrix is stored in
panels of 32 columns, the width that one step of the product works on. Two parts are folded into the weights beforehand,
each exact in real arithmetic: the token type is always 0 and becomes part of the position table, and the attention's
1/sqrt(32) becomes part of the query projection.

The bytes depend on the weights only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy

Weights = Mapping[str, npt.NDArray[Any]]

LAYERS: Final = 6
HEADS: Final = 12
WIDTH: Final = 384
HEAD_WIDTH: Final = WIDTH // HEADS
PANEL: Final = 32


def build_weights(weights: Weights) -> bytes:
    """Build the file from the weights of the original, by their original names."""
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    tensors = {
        "words": weights["embeddings.word_embeddings.weight"].astype(np.float16),
        "positions": positions.astype(np.float16),
        **_norm("embedded", weights, "embeddings.LayerNorm"),
    }
    for number in range(LAYERS):
        tensors |= _layer(f"layer.{number}", weights, f"encoder.layer.{number}.")
    content: bytes = safetensors.numpy.save({name: np.ascontiguousarray(values) for name, values in tensors.items()})
    return content


def _layer(name: str, weights: Weights, original: str) -> dict[str, npt.NDArray[Any]]:
    scale = {"query": np.float32(1 / np.sqrt(HEAD_WIDTH)), "key": np.float32(1), "value": np.float32(1)}
    attention = f"{original}attention.self."
    matrices = [weights[f"{attention}{part}.weight"].T * by for part, by in scale.items()]
    biases = [weights[f"{attention}{part}.bias"] * by for part, by in scale.items()]
    return {
        **_linear(f"{name}.joined", np.concatenate(matrices, axis=1), np.concatenate(biases)),
        **_dense(f"{name}.attended", weights, f"{original}attention.output.dense"),
        **_norm(f"{name}.attended", weights, f"{original}attention.output.LayerNorm"),
        **_dense(f"{name}.inner", weights, f"{original}intermediate.dense"),
        **_dense(f"{name}.outer", weights, f"{original}output.dense"),
        **_norm(f"{name}.outer", weights, f"{original}output.LayerNorm"),
    }


def _dense(name: str, weights: Weights, original: str) -> dict[str, npt.NDArray[Any]]:
    return _linear(name, weights[f"{original}.weight"].T, weights[f"{original}.bias"])


def _linear(name: str, matrix: npt.NDArray[Any], bias: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    rows, columns = matrix.shape
    panels = matrix.reshape(rows, columns // PANEL, PANEL).transpose(1, 0, 2)
    return {f"{name}.weight": panels.astype(np.float16), f"{name}.bias": bias.astype(np.float32)}


def _norm(name: str, weights: Weights, original: str) -> dict[str, npt.NDArray[Any]]:
    return {f"{name}.gain": weights[f"{original}.weight"], f"{name}.shift": weights[f"{original}.bias"]}
