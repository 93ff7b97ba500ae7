"""The doctor's check of the models that embed."""

from __future__ import annotations

from pathlib import Path

from opencode_memory import MemoryStore
from opencode_memory.cli.doctor.checks import Check
from opencode_memory.cli.doctor.model import check_model
from opencode_memory.config.load import load
from support.embedding_server import EmbeddingServer


def _check(home: Path, store: MemoryStore | None = None, **values: str) -> list[Check]:
    environment = {"HOME": str(home)} | {f"OPENCODE_MEMORY_EMBEDDING_{key}": value for key, value in values.items()}
    config = load(environment=environment)
    return list(check_model(config.embedding, config.environment, store))


def test_bundled_model_needs_one_check(tmp_path: Path) -> None:
    assert [(check.name, check.level) for check in _check(tmp_path)] == [("model", "ok")]


def test_server_is_checked_with_a_query(tmp_path: Path) -> None:
    with EmbeddingServer() as server:
        values = {"PROVIDER": "openai", "MODEL": "m", "BASE_URL": server.url}
        fits = _check(tmp_path, **values, DIMENSIONS="64")[1]
        differs = _check(tmp_path, **values, DIMENSIONS="65")[1]
    is_down = _check(tmp_path, **values, DIMENSIONS="64")[1]
    assert [check.level for check in (fits, differs, is_down)] == ["note", "problem", "problem"]
    assert "openai:m:64@" in fits.text
    assert "64 dimensions instead of 65" in differs.text
    assert differs.hint == "set embedding.dimensions to the length of the model's vectors"
    assert "found by words only" in is_down.text
    assert is_down.hint == "start the server, or check embedding.base_url"


def test_server_is_not_asked_without_tokens(tmp_path: Path, store: MemoryStore) -> None:
    with EmbeddingServer() as server:
        values = {"PROVIDER": "openai", "MODEL": "m", "BASE_URL": server.url, "DIMENSIONS": "64"}
        spent = _check(tmp_path, store, **values, TOKENS_PER_DAY="20")[1]
        assert server.received == []
        counted = _check(tmp_path, store, **values, TOKENS_PER_DAY="1000")[1]
    assert (spent.level, counted.level) == ("note", "ok")
    assert "is not asked" in spent.text
    assert spent.hint == "raise embedding.tokens_per_day; 0 is no limit"
    assert store._engine.spent_tokens()[1] == 8, "the question of the doctor counts too"
