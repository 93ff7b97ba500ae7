"""Embedder with the ONNX model of a folder: pooling, prefixes and dimensions of its own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencode_memory.config.load import load
from opencode_memory.embedding.base import Embedder
from opencode_memory.embedding.factory import build_embedders
from opencode_memory.errors import ConfigError, EmbeddingError, ModelNotFoundError
from support.embedders import Vectors
from support.onnx_folder import HIDDEN, TABLE, ids_of, write_folder

_LAST = {"1_Pooling__config": {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}}


def _open(folder: Path, **settings: str) -> Embedder:
    given = {"provider": "folder", "folder": str(folder), **settings}
    environment = {f"OPENCODE_MEMORY_EMBEDDING_{name.upper()}": value for name, value in given.items()}
    environment["HOME"] = str(folder.parent)
    return build_embedders(load(environment=environment).embedding, environment).of_memories


def _unit(vector: Vectors) -> Vectors:
    return vector / np.linalg.norm(vector)


def _rows(text: str) -> Vectors:
    return TABLE[ids_of(text)]


@pytest.mark.parametrize("about", [{}, {"model_type": "bert"}, {"model_type": ["qwen3"]}])
def test_mean_of_the_tokens_leaves_the_padding_out(tmp_path: Path, about: dict[str, Any]) -> None:
    vectors = np.asarray(_open(write_folder(tmp_path / "tiny", about=about)).embed(["red fox", "sea"]))
    assert vectors.shape == (2, HIDDEN)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors[0], _unit(_rows("red fox").mean(axis=0)), atol=1e-6)
    assert np.allclose(vectors[1], _unit(_rows("sea").mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize(
    ("files", "settings", "place"),
    [
        (_LAST, {}, -1),
        ({"1_Pooling__config": {"pooling_mode_cls_token": True}}, {}, 0),
        ({"about": {"model_type": "qwen3"}}, {}, -1),
        (_LAST, {"pooling": "cls"}, 0),
    ],
)
def test_pooling_is_that_of_the_model_unless_it_is_set(
    tmp_path: Path, files: dict[str, Any], settings: dict[str, str], place: int
) -> None:
    vectors = np.asarray(_open(write_folder(tmp_path / "tiny", **files), **settings).embed(["red fox", "sea"]))
    assert np.allclose(vectors[0], _unit(_rows("red fox")[place]), atol=1e-6)
    assert np.allclose(vectors[1], _unit(_rows("sea")[place]), atol=1e-6)


def test_inputs_of_a_decoder_are_filled(tmp_path: Path) -> None:
    inputs = ["input_ids", "attention_mask", "position_ids", "past_key_values.0.key", "past_key_values.0.value"]
    folder = write_folder(tmp_path / "tiny", inputs=inputs, about={"model_type": "qwen3"})
    assert np.allclose(np.asarray(_open(folder).embed(["sea"]))[0], _unit(_rows("sea")[-1]), atol=1e-6)


def test_prefixes_are_those_of_the_model_unless_they_are_set(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "text: "}}
    folder = write_folder(tmp_path / "tiny", config_sentence_transformers=prompts)
    embedder = _open(folder)
    assert np.allclose(embedder.embed_query("fox"), _unit(_rows("query [UNK] fox").mean(axis=0)), atol=1e-6)
    assert np.allclose(np.asarray(embedder.embed(["fox"]))[0], _unit(_rows("text [UNK] fox").mean(axis=0)), atol=1e-6)
    own = _open(folder, query_prefix="blue ").embed_query("fox")
    assert np.allclose(own, _unit(_rows("blue fox").mean(axis=0)), atol=1e-6)


def test_shorter_vectors_are_the_beginning_of_the_model_s_own(tmp_path: Path) -> None:
    embedder = _open(write_folder(tmp_path / "tiny"), dimensions="4")
    assert embedder.dimension == 4
    assert np.allclose(np.asarray(embedder.embed(["fox"]))[0], _unit(_rows("fox").mean(axis=0)[:4]), atol=1e-6)


def test_text_that_is_too_long_keeps_its_end_token(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny", sentence_bert_config={"max_seq_length": 4}, **_LAST)
    vector = np.asarray(_open(folder).embed(["fox " * 20]))[0]
    assert np.allclose(vector, _unit(_rows("fox")[-1]), atol=1e-6)


def test_id_changes_exactly_if_vectors_stop_being_comparable(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    first = _open(folder).model_id
    assert first.startswith(f"folder:tiny:{HIDDEN}@")
    assert _open(folder).model_id == first
    changed = [_open(folder, **{name: value}).model_id for name, value in (("pooling", "cls"), ("dimensions", "4"))]
    changed.append(_open(folder, text_prefix="text: ").model_id)
    (folder / "onnx" / "model.onnx").write_bytes((folder / "onnx" / "model.onnx").read_bytes()[:-1] + b"x")
    changed.append(_open(folder).model_id)
    assert len({first, *changed}) == 5


def _remove(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def _write(name: str, text: str) -> Any:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_remove("onnx/model.onnx"), "has no onnx/model.onnx and no model.onnx"),
        (_remove("tokenizer.json"), "tokenizer.json cannot be read"),
        (_remove("config.json"), "config.json cannot be read"),
        (_write("config.json", "{"), "is not JSON"),
        (_write("config.json", "[]"), "is not a JSON object"),
        (_write("config.json", '{"hidden_size": "8"}'), "no usable hidden_size"),
        (_write("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'), "set embedding.pooling"),
    ],
)
def test_folder_without_a_usable_model_is_refused(tmp_path: Path, change: Any, text: str) -> None:
    folder = write_folder(tmp_path / "tiny")
    change(folder)
    with pytest.raises(ModelNotFoundError, match=text):
        _open(folder)


@pytest.mark.parametrize("name", ["../other.onnx", "/etc/passwd", "missing.onnx"])
def test_graph_must_be_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.onnx").touch()
    with pytest.raises(ModelNotFoundError):
        _open(write_folder(tmp_path / "tiny"), model=name)


def test_more_dimensions_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="dimensions is 9"):
        _open(write_folder(tmp_path / "tiny"), dimensions="9")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs": ["input_ids", "pixel_values"]}, "pixel_values"),
        ({"output": "logits"}, "no output last_hidden_state"),
    ],
)
def test_model_of_another_kind_is_refused_by_its_first_text(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    embedder = _open(write_folder(tmp_path / "tiny", **options))
    with pytest.raises(ModelNotFoundError, match=text):
        embedder.embed(["fox"])


def test_damaged_graph_is_refused_by_its_first_text(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(EmbeddingError, match=r"model\.onnx could not be loaded"):
        _open(folder).embed(["fox"])


def test_no_texts_load_no_model(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing")
    assert len(_open(folder).embed([])) == 0
