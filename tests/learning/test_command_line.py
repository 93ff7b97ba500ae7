"""Commands about learning: ingest, learning and review."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.cli import review
from opencode_memory.errors import ConflictError
from support.command_line import CommandLine
from support.learning import (
    LEDGER,
    RUFF,
    SORT,
    say,
)
from support.opencode import FIRST_ENGINE, FORKS, SECOND_ENGINE


@pytest.mark.parametrize("database", [FIRST_ENGINE, SECOND_ENGINE, FORKS], ids=lambda path: path.stem)
def test_ingest_opencode_twice_learns_once(cli: CommandLine, tmp_path, database):
    path = str(shutil.copyfile(database, tmp_path / "opencode.db"))

    first = cli.ok("ingest", "opencode", "--db", path, "--json").json
    again = cli.ok("ingest", "opencode", "--db", path, "--json").json

    assert first["messages"] > 0
    assert first["active"]
    assert (again["sessions"], again["messages"], again["active"], again["waiting"]) == (0, 0, [], [])


def test_ingest_opencode_does_not_change_the_database(cli: CommandLine, tmp_path):
    path = Path(shutil.copyfile(FORKS, tmp_path / "opencode.db"))
    before = path.read_bytes()

    cli.ok("ingest", "opencode", "--db", str(path))

    assert path.read_bytes() == before


def test_ingest_opencode_without_json_prints_counts(cli: CommandLine, tmp_path):
    path = str(shutil.copyfile(FIRST_ENGINE, tmp_path / "opencode.db"))

    assert "session" in cli.ok("ingest", "opencode", "--db", path).out
    assert "0 sessions with new messages" in cli.ok("ingest", "opencode", "--db", path).out


def test_ingest_opencode_dry_run_reports_without_writing(cli: CommandLine, tmp_path):
    path = str(shutil.copyfile(FIRST_ENGINE, tmp_path / "opencode.db"))

    tried = cli.ok("ingest", "opencode", "--db", path, "--dry-run", "--json").json
    assert cli("list", "--all-projects", "--json").json.get("memories", []) == []
    done = cli.ok("ingest", "opencode", "--db", path, "--json").json

    assert (tried["sessions"], tried["messages"]) == (done["sessions"], done["messages"])
    assert len(tried["active"]) == len(done["active"])
    assert cli.ok("ingest", "opencode", "--db", path, "--dry-run", "--json").json["messages"] == 0


def test_dry_run_after_an_ingest_counts_new_messages(cli: CommandLine, opencode):
    say(opencode, opencode.session("ses_1"), "Hello there.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    say(opencode, "ses_1", LEDGER, at=5_000)

    assert cli.ok("ingest", "opencode", "--db", str(opencode.path), "--dry-run", "--json").json["messages"] == 2


def test_dry_run_respects_paused_sessions(cli: CommandLine, opencode):
    say(opencode, opencode.session("ses_1"), LEDGER)
    cli.ok("learning", "pause", "ses_1")

    tried = cli.ok("ingest", "opencode", "--db", str(opencode.path), "--dry-run", "--json").json
    done = cli.ok("ingest", "opencode", "--db", str(opencode.path), "--json").json

    assert done["active"] == []
    assert tried["active"] == []


def test_learning_off_skips_messages_and_on_learns_later_ones_only(cli: CommandLine, opencode):
    say(opencode, opencode.session("ses_0"), "Hello there.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    (project,) = [one["name"] for one in cli.ok("projects", "list", "--json").json["projects"]]
    cli.ok("learning", "off", "--project", project)
    say(opencode, opencode.session("ses_1"), LEDGER)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    assert cli.contents("--project", project) == []

    cli.ok("learning", "on", "--project", project)
    say(opencode, opencode.session("ses_2"), RUFF)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    assert cli.contents("--project", project) == [RUFF]


def test_ingest_opencode_names_a_missing_or_invalid_database(cli: CommandLine, tmp_path):
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("This is no database, whatever its name says. " * 50)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE memory (id TEXT)")
    connection.close()
    (tmp_path / "empty.db").write_bytes(b"")

    for name in ("missing.db", "text.db", "other.db", "empty.db"):
        answer = cli("ingest", "opencode", "--db", str(tmp_path / name))
        assert answer.code != 0, name
        assert name in answer.err
    assert not (tmp_path / "missing.db").exists()


def test_option_db_requires_opencode(cli: CommandLine, tmp_path):
    assert cli("ingest", str(tmp_path), "--db", str(FORKS)).code != 0


def test_review_ignores_active_memories_and_rejects_unknown_ids(cli: CommandLine):
    first = cli.remember("Sort imports by length.", "--category", "preference")
    assert cli("review", "--json").json == {"waiting": []}
    assert cli("review", "--accept", "nothing-like-it").code != 0
    assert cli.ok("list", "--json").json["memories"][0]["id"] == first


@pytest.fixture
def pending(cli: CommandLine) -> list[str]:
    """Two pending directives."""
    texts = ("Always run make fmt first.", "Never push on Friday evenings.")
    with opencode_memory.open(background=False) as store:
        return [store.remember(text, scope="global", category="directive", status="candidate").id for text in texts]


def test_review_decides_nothing_if_one_id_is_wrong(cli: CommandLine, pending: list[str]):
    refused = cli("review", "--accept", pending[0], "--reject", "deadbeef")
    assert (refused.code, "deadbeef" in refused.err) == (1, True)
    both = cli("review", "--accept", pending[0], "--reject", pending[0][-12:])
    assert (both.code, "cannot be both accepted and rejected" in both.err) == (2, True)
    assert {memory["id"] for memory in cli.ok("review", "--json").json["waiting"]} == set(pending)


def test_review_rejects_what_an_accepted_text_has_just_replaced(cli: CommandLine):
    with opencode_memory.open(background=False) as store:
        old = store.remember("We format with make fmt.", scope="global").id
        metadata = {"replaces": old}
        new = store.remember("Use make format.", scope="global", status="candidate", metadata=metadata).id
    decided = cli.ok("review", "--accept", new, "--reject", old, "--json").json
    assert decided == {"accepted": [new], "rejected": [old]}
    with opencode_memory.open(background=False) as store:
        assert store.get(old).status == "archived"


def test_review_takes_its_decisions_back_if_one_of_them_fails(
    cli: CommandLine, pending: list[str], monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise ConflictError("another process has changed it")

    monkeypatch.setattr(review, "reject", fail)
    refused = cli("review", "--accept", pending[0], "--reject", pending[1])
    assert (refused.code, "another process has changed it" in refused.err) == (2, True)
    assert {memory["id"] for memory in cli.ok("review", "--json").json["waiting"]} == set(pending)


def test_undo_takes_all_decisions_of_a_review_back(cli: CommandLine, pending: list[str]):
    decided = cli.ok("review", "--accept", pending[0], "--accept", pending[0], "--reject", pending[1], "--json").json
    assert decided == {"accepted": [pending[0]], "rejected": [pending[1]]}
    cli.ok("undo")
    assert {memory["id"] for memory in cli.ok("review", "--json").json["waiting"]} == set(pending)


def test_review_accepts_and_rejects_learned_candidates(cli: CommandLine, opencode, unsure):
    say(opencode, opencode.session("ses_1"), SORT)
    say(opencode, opencode.session("ses_2"), "Sort members by name.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    waiting = cli.ok("review", "--all-projects", "--json").json["waiting"]
    ids = {one["content"]: one["id"] for one in waiting}
    assert set(ids) == {SORT, "Sort members by name."}
    shown = cli.ok("review", "--all-projects", "--list").out
    assert SORT in shown
    assert "standing order" in " ".join(shown.split())

    cli.ok("review", "--accept", ids[SORT], "--reject", ids["Sort members by name."])
    say(opencode, opencode.session("ses_3"), SORT, "Sort members by name.")
    say(opencode, opencode.session("ses_4"), SORT, "Sort members by name.")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))

    assert cli("review", "--all-projects", "--json").json == {"waiting": []}
    assert cli.contents("--all-projects") == [SORT]


@pytest.mark.parametrize(
    "way", [("delete",), ("archive",), ("purge", "--yes"), ("review", "--reject")], ids=lambda way: way[0]
)
def test_memory_put_away_by_a_command_is_not_learned_again(cli: CommandLine, opencode, way: tuple[str, ...]) -> None:
    say(opencode, opencode.session("ses_a"), RUFF)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    learned = cli("list", "--all-projects", "--json").json["memories"]
    (id_,) = (memory["id"] for memory in learned if memory["content"] == RUFF)

    cli.ok(*way, id_)
    say(opencode, opencode.session("ses_b"), RUFF, at=9_000)
    cli.ok("ingest", "opencode", "--db", str(opencode.path))

    assert RUFF not in [memory["content"] for memory in cli("list", "--all-projects", "--json").json["memories"]]


def test_learning_pause_says_what_it_changed_and_whether_the_session_is_known(cli: CommandLine):
    paused = cli.ok("learning", "pause", "ses_typo")
    assert paused.out == "Learning is paused for session ses_typo.\n"
    assert "No message of a session ses_typo has been read so far" in paused.err
    assert cli.ok("learning", "pause", "ses_typo").out == "Learning was already paused for session ses_typo.\n"
    assert cli.ok("learning", "resume", "ses_typo").out == "Learning is resumed for session ses_typo.\n"
    assert cli.ok("learning", "resume", "ses_typo").out == "Learning was not paused for session ses_typo.\n"


@pytest.mark.parametrize("session", ["", "  ", "ses\x1b[31m"])
def test_learning_pause_refuses_what_is_no_id(cli: CommandLine, session: str):
    answer = cli("learning", "pause", session)
    assert (answer.code, "SESSION must be the id of a session" in answer.err) == (2, True)


def test_group_without_a_command_prints_its_help_without_calling_it_an_error(cli: CommandLine):
    answer = cli("learning")
    assert (answer.code, answer.err.startswith("Usage: ")) == (2, True)
    assert "relearn" in answer.err


MERGES = "Désormais, fusionne toutes les branches avec un commit de fusion."
BRANCHES = "Verwende immer kurze Namen für Branches."


def test_status_names_the_languages_that_are_learned_from(cli: CommandLine, monkeypatch):
    assert "English, French; of others" in cli.ok("learning", "status").out
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_LANGUAGES", "en,de")
    assert "English, German (not tested on real talk); of others" in cli.ok("learning", "status").out
    languages = cli.ok("learning", "status", "--json").json["languages"]
    assert {"code": "de", "name": "German", "on": True, "tested_on_real_talk": False} in languages
    assert [one["code"] for one in languages if one["on"]] == ["en", "de"]


def test_only_configured_languages_are_learned_from(cli: CommandLine, opencode, monkeypatch):
    say(opencode, opencode.session("ses_1"), MERGES)
    say(opencode, opencode.session("ses_2"), BRANCHES)
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_LANGUAGES", "de")
    cli.ok("ingest", "opencode", "--db", str(opencode.path))
    found = {memory["content"] for memory in cli.ok("list", "--all-projects", "--json").json["memories"]}
    assert BRANCHES in found
    assert MERGES not in found
