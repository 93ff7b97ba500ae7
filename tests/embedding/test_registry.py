"""Models are found by name, and damaged ones are told from good ones."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

import pytest

from opencode_memory.embedding import DEFAULT_MODEL, BundledEmbedder, find_model, verify_model
from opencode_memory.embedding.registry import read_manifest
from opencode_memory.errors import ModelNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hold a model whose weights are no model but whose manifest is right."""
    files = {"weights": b"not weights", "vocabulary": b"not tokens"}
    manifest: dict[str, object] = {"name": "tiny", "dimension": 4, "window": 8, "version": "1"}
    for kind, content in files.items():
        (tmp_path / kind).write_bytes(content)
        manifest[kind] = {"file": kind, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def test_the_shipped_model_is_the_one_that_was_converted() -> None:
    assert verify_model().name == DEFAULT_MODEL


def test_the_model_id_names_the_model_and_its_version() -> None:
    # Stamped beside the vectors of all stores that exist: another id embeds every one of them anew.
    assert find_model().model_id == "all-MiniLM-L6-v2@b400139ad2a2"
    assert BundledEmbedder().model_id == find_model().model_id


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ModelNotFoundError, match="'all-minilm'") as caught:
        find_model("all-minilm")

    assert caught.value.hint == "did you mean 'all-MiniLM-L6-v2'?"


def test_a_missing_manifest_says_where_it_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=re.escape(str(tmp_path / "manifest.json"))) as caught:
        read_manifest(tmp_path)

    assert caught.value.hint is not None


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"name": "x", "dimension": 1, "window": 2, "version": "1", "weights": 3}']
)
def test_a_damaged_manifest_is_an_error_of_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(ModelNotFoundError, match="damaged"):
        read_manifest(tmp_path)


def test_a_flipped_byte_is_found_by_the_content_only(folder: Path) -> None:
    (folder / "weights").write_bytes(b"not weightS")
    weights = read_manifest(folder).weights

    weights.check_size()
    with pytest.raises(ModelNotFoundError, match="damaged"):
        weights.check_content()


def test_a_truncated_file_is_found_at_the_load(folder: Path) -> None:
    model = read_manifest(folder)
    (folder / "weights").write_bytes(b"not a")

    with pytest.raises(ModelNotFoundError, match="5 bytes instead of 11"):
        BundledEmbedder(model).load()


def test_a_missing_file_is_found_at_the_load(folder: Path) -> None:
    model = read_manifest(folder)
    (folder / "weights").unlink()

    with pytest.raises(ModelNotFoundError, match="cannot be read"):
        BundledEmbedder(model).load()


def test_a_file_that_is_no_model_is_an_error_of_ours(folder: Path) -> None:
    model = read_manifest(folder)

    with pytest.raises(ModelNotFoundError, match="damaged"):
        BundledEmbedder(model).load()
    with pytest.raises(ModelNotFoundError, match="damaged"):
        BundledEmbedder(model).chunk("word " * 100)
