"""Models are found by name, and damaged ones are told from good ones."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

import pytest

from opencode_memory.embedding import DEFAULT_MODEL, OnnxEmbedder, find_model, verify_model
from opencode_memory.embedding.registry import read_manifest
from opencode_memory.errors import ModelNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hold a model whose graph is no model but whose manifest is right."""
    files = {"graph": b"not a graph", "tokenizer": b"not a tokenizer"}
    manifest: dict[str, object] = {"name": "tiny", "dimension": 4, "window": 8}
    for kind, content in files.items():
        (tmp_path / kind).write_bytes(content)
        manifest[kind] = {"file": kind, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def test_the_shipped_model_is_the_one_that_was_converted() -> None:
    assert verify_model().name == DEFAULT_MODEL


def test_the_model_id_names_the_model_and_its_file() -> None:
    assert re.fullmatch(r"all-MiniLM-L6-v2@[0-9a-f]{12}", find_model().model_id)
    assert OnnxEmbedder().model_id == find_model().model_id


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ModelNotFoundError, match="'all-minilm'") as caught:
        find_model("all-minilm")

    assert caught.value.hint == "did you mean 'all-MiniLM-L6-v2'?"


def test_a_missing_manifest_says_where_it_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=re.escape(str(tmp_path / "manifest.json"))) as caught:
        read_manifest(tmp_path)

    assert caught.value.hint is not None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": "x", "dimension": 1, "window": 2, "graph": 3}'])
def test_a_damaged_manifest_is_an_error_of_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(ModelNotFoundError, match="damaged"):
        read_manifest(tmp_path)


def test_a_flipped_byte_is_found_by_the_content_only(folder: Path) -> None:
    (folder / "graph").write_bytes(b"not a grapH")
    graph = read_manifest(folder).graph

    graph.check_size()
    with pytest.raises(ModelNotFoundError, match="damaged"):
        graph.check_content()


def test_a_truncated_file_is_found_at_the_load(folder: Path) -> None:
    model = read_manifest(folder)
    (folder / "graph").write_bytes(b"not a")

    with pytest.raises(ModelNotFoundError, match="5 bytes instead of 11"):
        OnnxEmbedder(model).load()


def test_a_missing_file_is_found_at_the_load(folder: Path) -> None:
    model = read_manifest(folder)
    (folder / "graph").unlink()

    with pytest.raises(ModelNotFoundError, match="cannot be read"):
        OnnxEmbedder(model).load()


def test_a_file_that_is_no_model_is_an_error_of_ours(folder: Path) -> None:
    model = read_manifest(folder)

    with pytest.raises(ModelNotFoundError, match="could not be loaded"):
        OnnxEmbedder(model).load()
    with pytest.raises(ModelNotFoundError, match="damaged"):
        OnnxEmbedder(model).chunk("word " * 100)
