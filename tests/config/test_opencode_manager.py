"""Output of commands about a ``memory-config.jsonc``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.command_line import CommandLine

TEXT = '{"embedding": {"apiKey": "sk-secret"}, "memoryInjection": {"maxTokens": 900, "maxToken": 1}}'


@pytest.fixture
def file() -> Path:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "opencode" / "memory-config.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_config_show_prints_origin_and_notices(cli: CommandLine, file: Path) -> None:
    shown = cli.ok("config", "show").out
    assert str(file) in shown.splitlines()[1]
    (row,) = (line for line in shown.splitlines() if line.startswith("injection.max_tokens"))
    assert row.split() == ["injection.max_tokens", "900", "memory-config.jsonc"]
    assert "error  unknown key 'memoryInjection.maxToken' (memory-config.jsonc)\n       did you mean" in shown
    assert "note   embedding.apiKey has no effect: " in shown
    assert "sk-secret" not in shown


def test_config_show_json_has_origin_and_notices(cli: CommandLine, file: Path) -> None:
    answer = cli.ok("config", "show", "--json")
    assert answer.json["memory_config"] == str(file)
    assert answer.json["values"]["injection.max_tokens"] == {"value": 900, "origin": "memory-config.jsonc"}
    assert answer.json["notices"][0] == {
        "level": "error",
        "key": "memoryInjection.maxToken",
        "text": "unknown key 'memoryInjection.maxToken' (memory-config.jsonc)",
        "hint": "did you mean 'memoryInjection.maxTokens'?",
    }
    assert "sk-secret" not in answer.out


def test_config_show_without_file_has_no_notices(cli: CommandLine) -> None:
    answer = cli.ok("config", "show", "--json").json
    assert (answer["memory_config"], answer["notices"]) == (None, [])


@pytest.mark.parametrize("text", ["{", "[]", '{"kv": 1}'])
def test_invalid_file_stops_no_command(cli: CommandLine, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    cli.ok("kv", "set", "a", "1")
    assert cli.ok("kv", "get", "a").err == ""
    assert "error  " in cli.ok("config", "show").out
