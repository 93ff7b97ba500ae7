"""Folders with tiny ONNX models: a token's vector is a row of a table, whatever stands around it.

The files are written as protocol buffers by hand, because the library for ONNX files is large and needed here only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

HIDDEN: Final = 8
WORDS: Final = ("[PAD]", "[END]", "[UNK]", "fox", "sea", "red", "blue", "query", "text")
TABLE: Final = np.random.default_rng(7).normal(size=(len(WORDS), HIDDEN)).astype(np.float32)
_FLOAT, _INT64, _HALF = 1, 7, 10
_TYPES: Final = {"float32": _FLOAT, "int64": _INT64, "float16": _HALF}


def ids_of(text: str) -> list[int]:
    """The tokens of a text, with the one that ends it."""
    words = text.replace(":", " ").split()
    return [*(WORDS.index(word) if word in WORDS else WORDS.index("[UNK]") for word in words), WORDS.index("[END]")]


def write_folder(
    folder: Path,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    output: str = "last_hidden_state",
    about: dict[str, Any] | None = None,
    **files: Any,
) -> Path:
    """Write a model; ``files`` are JSON files, with ``__`` for a slash in their names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "onnx").mkdir(exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(_model(inputs, output))
    contents = {"config": {"hidden_size": HIDDEN, "max_position_embeddings": 64} | (about or {}), **files}
    for name, content in contents.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    end = ("[END]", WORDS.index("[END]"))
    tokenizer.post_processor = TemplateProcessing(single="$A [END]", pair="$A [END] $B [END]", special_tokens=[end])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _model(inputs: Sequence[str], output: str) -> bytes:
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, output) + _text(4, "Gather")
    table = _number(1, len(WORDS)) + _number(1, HIDDEN) + _number(2, _FLOAT) + _text(8, "table")
    table += _bytes(9, TABLE.tobytes())
    graph = _bytes(1, node) + _text(2, "tiny") + _bytes(5, table)
    for name in inputs:
        if name.startswith("past_key_values."):
            graph += _bytes(11, _value(name, "float32", ["batch", 2, "past", 4]))
        else:
            graph += _bytes(11, _value(name, "int64", ["batch", "length"]))
    graph += _bytes(12, _value(output, "float32", ["batch", "length", HIDDEN]))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 17))


def _value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, size) if isinstance(size, int) else _text(2, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES[kind]) + _bytes(2, sizes)))


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
