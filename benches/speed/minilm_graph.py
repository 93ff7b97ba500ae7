"""The ONNX graph of all-MiniLM-L6-v2, written by hand: token ids and mask in, vectors of length 1 out.

A BERT encoder of six layers, the mean over the tokens that are not padding, and the normalisation. Weights are stored
in 16 bits. A matrix is followed by a ``Cast`` to fp32 that onnxruntime evaluates once while loading (constant
folding), so that all arithmetic is fp32; the word and position tables are gathered first and cast afterwards, so that
they stay small in memory. Three things are folded into the weights beforehand, each exact in real arithmetic: the
token type is always 0 and becomes part of the position table; the attention's 1/sqrt(32) becomes part of the query
projection; the mean's division is left out, because the normalisation that follows undoes it.

The bytes depend on the weights only: names, order and versions are fixed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, checker, helper, numpy_helper

Weights = Mapping[str, npt.NDArray[Any]]

LAYERS: Final = 6
HEADS: Final = 12
WIDTH: Final = 384
HEAD_WIDTH: Final = WIDTH // HEADS
EPSILON: Final = 1e-12

# Gelu came with opset 20, and that with IR version 9; onnxruntime reads both since 1.17.
_OPSET: Final = 20
_IR_VERSION: Final = 9


def build_model(weights: Weights) -> bytes:
    """Build the model from the weights of the original, by their original names.

    Returns:
        A serialised, checked ONNX model: ``input_ids`` and ``attention_mask`` (int64, batch x length up to 512) to
        ``embedding`` (float32, batch x 384).
    """
    return _Graph(weights).build()


class _Graph:
    """Collects nodes and tensors; each method adds one part of the network and returns the name of its output."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def build(self) -> bytes:
        mask = self._node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        self._constants()
        hidden = self._embeddings()
        bias = self._attention_bias(mask)
        for number in range(LAYERS):
            hidden = self._layer(number, hidden, bias)
        self._pool(mask, hidden)
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"]),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
            ],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])],
            self._tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
        model.producer_name = "opencode-memory"
        model.producer_version = ""
        checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))

    def _constants(self) -> None:
        for name, values in {
            "zero": [0],
            "one": [1],
            "heads_apart": [0, 0, HEADS, HEAD_WIDTH],
            "heads_joined": [0, 0, WIDTH],
            "three_parts": [WIDTH] * 3,
            "head_and_query": [1, 2],
        }.items():
            self._tensor(name, np.array(values, np.int64))

    def _embeddings(self) -> str:
        positions = self._weights["embeddings.position_embeddings.weight"]
        token_type = self._weights["embeddings.token_type_embeddings.weight"][0]
        self._tensor("word_table", self._weights["embeddings.word_embeddings.weight"].astype(np.float16))
        self._tensor("position_table", (positions + token_type).astype(np.float16))
        self._node("Gather", ["word_table", "input_ids"], "words.16")
        self._node("Cast", ["words.16"], "words", to=TensorProto.FLOAT)
        self._node("Shape", ["input_ids"], "length", start=1, end=2)
        self._node("Slice", ["position_table", "zero", "length"], "positions.16")
        self._node("Cast", ["positions.16"], "positions", to=TensorProto.FLOAT)
        self._node("Add", ["words", "positions"], "embedded.sum")
        return self._norm("embedded.sum", "embeddings.LayerNorm", "embedded")

    def _attention_bias(self, mask: str) -> str:
        """Add -1e9 to the score of each padded token: after the softmax it is exactly 0."""
        self._tensor("float_one", np.array(1, np.float32))
        self._tensor("huge", np.array(1e9, np.float32))
        self._node("Sub", [mask, "float_one"], "padding")
        self._node("Mul", ["padding", "huge"], "padding.bias")
        return self._node("Unsqueeze", ["padding.bias", "head_and_query"], "attention.bias")

    def _layer(self, number: int, hidden: str, bias: str) -> str:
        name = f"layer.{number}"
        original = f"encoder.layer.{number}."
        attended = self._attention(name, original + "attention.self.", hidden, bias)
        projected = self._dense(f"{name}.output", original + "attention.output.dense", attended)
        self._node("Add", [hidden, projected], f"{name}.attended.sum")
        attended = self._norm(f"{name}.attended.sum", original + "attention.output.LayerNorm", f"{name}.attended")
        inner = self._dense(f"{name}.inner", original + "intermediate.dense", attended)
        active = self._node("Gelu", [inner], f"{name}.active")
        outer = self._dense(f"{name}.outer", original + "output.dense", active)
        self._node("Add", [attended, outer], f"{name}.sum")
        return self._norm(f"{name}.sum", original + "output.LayerNorm", name)

    def _attention(self, name: str, original: str, hidden: str, bias: str) -> str:
        scale = {"query": np.float32(1 / np.sqrt(HEAD_WIDTH)), "key": np.float32(1), "value": np.float32(1)}
        matrices = [self._weights[f"{original}{part}.weight"].T * by for part, by in scale.items()]
        matrix = np.concatenate(matrices, axis=1)
        offset = np.concatenate([self._weights[f"{original}{part}.bias"] * by for part, by in scale.items()])
        joined = self._linear(f"{name}.qkv", matrix, offset, hidden)
        parts = [f"{name}.{part}" for part in scale]
        self._nodes.append(helper.make_node("Split", [joined, "three_parts"], parts, name=f"{name}.split", axis=2))
        # The key is transposed twice in one step: heads apart, and ready for the product with the query.
        for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True):
            self._node("Reshape", [part, "heads_apart"], f"{part}.apart")
            self._node("Transpose", [f"{part}.apart"], f"{part}.heads", perm=order)
        query, key, value = (f"{part}.heads" for part in parts)
        self._node("MatMul", [query, key], f"{name}.scores")
        self._node("Add", [f"{name}.scores", bias], f"{name}.masked")
        self._node("Softmax", [f"{name}.masked"], f"{name}.shares", axis=-1)
        self._node("MatMul", [f"{name}.shares", value], f"{name}.mixed")
        self._node("Transpose", [f"{name}.mixed"], f"{name}.mixed.apart", perm=[0, 2, 1, 3])
        return self._node("Reshape", [f"{name}.mixed.apart", "heads_joined"], f"{name}.context")

    def _pool(self, mask: str, hidden: str) -> None:
        self._node("Unsqueeze", [mask, "one"], "mask.row")
        self._node("MatMul", ["mask.row", hidden], "pooled.row")
        self._node("Squeeze", ["pooled.row", "one"], "pooled")
        self._node("LpNormalization", ["pooled"], "embedding", axis=-1, p=2)

    def _dense(self, name: str, original: str, source: str) -> str:
        return self._linear(name, self._weights[f"{original}.weight"].T, self._weights[f"{original}.bias"], source)

    def _linear(self, name: str, matrix: npt.NDArray[Any], offset: npt.NDArray[Any], source: str) -> str:
        self._tensor(f"{name}.weight.16", matrix.astype(np.float16))
        self._tensor(f"{name}.bias", offset.astype(np.float32))
        self._node("Cast", [f"{name}.weight.16"], f"{name}.weight", to=TensorProto.FLOAT)
        self._node("MatMul", [source, f"{name}.weight"], f"{name}.product")
        return self._node("Add", [f"{name}.product", f"{name}.bias"], name)

    def _norm(self, source: str, original: str, name: str) -> str:
        self._tensor(f"{name}.gain", self._weights[f"{original}.weight"])
        self._tensor(f"{name}.shift", self._weights[f"{original}.bias"])
        inputs = [source, f"{name}.gain", f"{name}.shift"]
        return self._node("LayerNormalization", inputs, name, axis=-1, epsilon=EPSILON)

    def _tensor(self, name: str, values: npt.NDArray[Any]) -> None:
        self._tensors.append(numpy_helper.from_array(np.ascontiguousarray(values), name))

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], name=f"{output}/{operator}", **attributes))
        return output
