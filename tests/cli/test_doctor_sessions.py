"""``opencode-memory doctor``: the session index, and databases that do not exist."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencode_memory.store.turns import NewTurn, SessionPage
from support.command_line import CommandLine
from support.stores import open_store


def sessions(cli: CommandLine) -> list[tuple[str, str]]:
    checks = cli("doctor", "--json").json["checks"]
    return [(check["level"], check["text"]) for check in checks if check["name"] == "sessions"]


@pytest.fixture
def database(cli: CommandLine, tmp_path: Path) -> Path:
    """A database with one indexed session of two turns."""
    cli.ok("remember", "something else")
    path = tmp_path / "agent.db"
    path.touch()
    at = datetime(2026, 1, 2, tzinfo=UTC)
    texts = ("Why do the bees refuse the hive?", "Its entrance faces north.")
    turns = [NewTurn(message=f"msg_{at_}", speaker="user", time=at, text=text) for at_, text in enumerate(texts)]
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store", project="app") as store:
        assert store.turns.add([SessionPage(database=str(path), session="ses_1", project="app", turns=turns)])
    return path


def test_store_without_sessions_has_no_check(cli: CommandLine) -> None:
    cli.ok("remember", "something else")
    assert sessions(cli) == []


def test_size_of_the_index_is_shown(cli: CommandLine, database: Path) -> None:
    assert sessions(cli) == [("ok", "2 turns of 1 session can be searched")]


def test_missing_database_is_named(cli: CommandLine, database: Path) -> None:
    database.unlink()
    assert sessions(cli) == [("note", f"{database} does not exist, so its sessions cannot be searched")]


def test_configured_database_that_does_not_exist_is_named(
    cli: CommandLine, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone.db"
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_OPENCODE_DB", str(gone))
    assert sessions(cli) == [("note", f"{gone} does not exist, so its sessions cannot be searched")]


def test_search_of_sessions_says_when_none_is_indexed_yet(cli: CommandLine) -> None:
    hint = "No session is indexed yet"
    for sources, is_hinted in (("sessions", True), ("all", False), ("memories", False)):
        answer = cli("recall", "anything", "--sources", sources)
        assert (answer.code, answer.out, hint in answer.err) == (1, "", is_hinted)


def test_search_of_sessions_says_when_learning_is_off(cli: CommandLine) -> None:
    cli.ok("config", "set", "learning.enabled", "false")
    answer = cli("recall", "anything", "--sources", "sessions")
    assert "because learning from OpenCode is switched off" in " ".join(answer.err.split())


def test_search_of_indexed_sessions_has_no_such_hint(cli: CommandLine, database: Path) -> None:
    assert database.exists()
    answer = cli("recall", "quantum chromodynamics of walruses", "--sources", "sessions")
    assert (answer.code, "No session is indexed yet" in answer.err) == (1, False)
