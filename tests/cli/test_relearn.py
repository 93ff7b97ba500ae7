"""``opencode-memory learning relearn``, and the offer after an upgrade."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.relearn.offer import OFFER
from opencode_memory.models import NewMemory
from support.command_line import CommandLine
from support.opencode import FakeOpenCode
from support.stores import open_store

NOISE = "The header looks a bit off on the second page."
RULE = "Never change the seed files by hand."
RELEARN = ("learning", "relearn")


@pytest.fixture
def ids(cli: CommandLine, tmp_path: Path) -> list[str]:
    """Ids of a memory that no rule finds any more, and of one that a rule still finds."""
    with open_store(tmp_path / "data" / "opencode-memory" / "store", project="shop") as store:
        return [store_old(store, NOISE, "fact"), store_old(store, RULE, "directive")]


def store_old(store: MemoryStore, text: str, category: str) -> str:
    source = {"tool": "opencode", "session": "ses_a", "message": "msg_1"}
    metadata = {"rule": "is particular", "evidence": text}
    # An id marks a memory of this store's own past. Otherwise a directive would wait for review.
    memory = NewMemory(
        content=text,
        category=category,
        project="shop",
        trust="extracted",
        source=source,
        metadata=metadata,
        id=str(uuid.uuid4()),
    )
    return store.remember_many([memory])[0].id


def test_show_tells_why_a_memory_was_learned(cli: CommandLine, ids: list[str]) -> None:
    shown = cli.ok("show", ids[1]).out.splitlines()
    assert "rule        is particular" in shown
    assert f"evidence    {RULE}" in shown
    assert "evidence" not in cli.ok("show", cli.remember("I wrote this.")).out


def test_preview_shows_counts_and_changes_nothing(cli: CommandLine, ids: list[str]) -> None:
    answer = cli.ok(*RELEARN, "--dry-run")
    assert "2 memories of earlier rules: 1 to archive, 1 to keep." in answer.out
    assert NOISE in answer.out
    assert RULE in answer.out
    assert "no rule finds this statement any more" in answer.out
    assert cli.contents("--all-projects").count(NOISE) == 1


def test_relearn_needs_a_confirmation(cli: CommandLine, ids: list[str]) -> None:
    answer = cli(*RELEARN)
    assert answer.code == 2
    assert "--yes" in answer.err
    assert NOISE in cli.contents("--all-projects")


def test_relearn_archives_and_undo_brings_back(cli: CommandLine, ids: list[str]) -> None:
    assert "Archived 1 memory." in cli.ok(*RELEARN, "--yes").out
    assert cli.contents("--all-projects") == [RULE]
    assert "1 memory as before relearning." in cli.ok(*RELEARN, "--undo").out
    assert sorted(cli.contents("--all-projects")) == sorted([NOISE, RULE])
    assert cli(*RELEARN, "--undo").code == 1


def test_json_names_each_verdict(cli: CommandLine, ids: list[str]) -> None:
    found = cli.ok(*RELEARN, "--yes", "--json").json
    assert [verdict["id"] for verdict in found["archive"]] == found["archived"] == [ids[0]]
    assert [verdict["id"] for verdict in found["keep"]] == [ids[1]]
    assert found["archive"][0] == {
        "id": ids[0],
        "category": "fact",
        "rule": "is particular",
        "is_kept": False,
        "is_typed": False,
        "reason": "no rule finds this statement any more (its session cannot be read)",
    }
    assert found["unread_sessions"] == 1


def test_sessions_are_read_from_the_database(cli: CommandLine, ids: list[str], tmp_path: Path) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session("ses_a")
        fake.user("ses_a", "msg_1", f"```\n{RULE}\n```\nwhat does it mean?", at=1_000)
    found = cli.ok(*RELEARN, "--dry-run", "--json", "--db", str(fake.path)).json
    assert {verdict["id"] for verdict in found["archive"]} == set(ids)
    assert found["unread_sessions"] == 0


def test_missing_database_is_an_error_only_if_it_was_named(cli: CommandLine, ids: list[str], tmp_path: Path) -> None:
    assert cli(*RELEARN, "--dry-run", "--db", str(tmp_path / "no.db")).code == 2
    assert cli(*RELEARN, "--dry-run").code == 0


def test_damaged_database_is_reported(
    cli: CommandLine, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("no database")
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_OPENCODE_DB", str(broken))
    answer = cli.ok(*RELEARN, "--dry-run")
    assert "judged by their quoted sentence" in answer.err


def test_empty_store_has_nothing_to_judge(cli: CommandLine) -> None:
    answer = cli(*RELEARN, "--dry-run")
    assert (answer.code, answer.out) == (1, "")
    assert "No memory of earlier rules" in answer.err


def test_undo_and_dry_run_exclude_each_other(cli: CommandLine) -> None:
    assert cli(*RELEARN, "--undo", "--dry-run").code == 2


# The offer


def test_no_to_the_question_archives_nothing_and_exits_with_1(cli: CommandLine, ids: list[str]) -> None:
    before = cli.contents("--all-projects")
    assert cli(*RELEARN, given="n\n", at_terminal=True).code == 1
    assert cli.contents("--all-projects") == before
    assert cli(*RELEARN, given="y\n", at_terminal=True).code == 0
    assert cli.contents("--all-projects") != before


def test_learning_status_offers_and_records_nothing(cli: CommandLine, ids: list[str]) -> None:
    for _ in range(2):
        answer = cli.ok("learning", "status")
        assert answer.err.count(OFFER) == 1
    assert OFFER not in cli.ok("learning", "status", "--json").err


def test_first_command_at_a_terminal_offers_once(
    cli: CommandLine, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("list", "--all-projects")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    first, second = cli.ok("stats"), cli.ok("stats")
    assert (OFFER in first.err, OFFER in second.err) == (True, False)


def test_doctor_notes_memories_of_earlier_rules_until_they_are_judged(cli: CommandLine, ids: list[str]) -> None:
    def notes() -> list[str]:
        return [check["hint"] for check in cli("doctor", "--json").json["checks"] if check["name"] == "learning"]

    assert notes() == ["opencode-memory learning relearn --dry-run"]
    cli.ok(*RELEARN, "--yes")
    assert notes() == []
