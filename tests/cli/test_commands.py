"""The commands, from what is typed to what is printed, on real stores."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.command_line import CommandLine


def test_what_is_remembered_is_recalled_by_meaning_and_explained(cli: CommandLine) -> None:
    cli.ok("remember", "Use", "pnpm,", "not", "npm.", "-c", "convention", "--tag", "tools")
    answer = cli.ok("recall", "which package manager", "--explain")
    assert "Use pnpm, not npm." in answer.out
    assert "convention" in answer.out
    assert "cosine" in answer.out


def test_json_has_the_fields_of_the_api(cli: CommandLine) -> None:
    id_of_memory = cli.remember("We chose PostgreSQL.", "-c", "decision", "--topic", "db", "-e", "PostgreSQL", "--pin")
    hit = cli.ok("recall", "PostgreSQL", "--json", "--explain").json["hits"][0]
    memory = hit["memory"]
    assert (hit["rank"], memory["id"], memory["category"], memory["topic"]) == (1, id_of_memory, "decision", "db")
    assert (memory["entities"], memory["pinned"], memory["project"]) == (["PostgreSQL"], True, str(cli.folder))
    assert memory["created_at"].endswith("Z")
    assert sum(signal["contribution"] for signal in hit["explanation"]["signals"]) == pytest.approx(hit["score"])


def test_nothing_found_is_exit_code_1(cli: CommandLine) -> None:
    for command in (("recall", "zebra"), ("list",), ("kv", "get", "x"), ("kv", "list"), ("projects", "list")):
        assert cli(*command).code == 1
    assert cli("recall", "zebra", "--json").json == {"query": "zebra", "hits": []}
    missing = cli("show", "00000000-0000-7000-8000-000000000000")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith("error: ")


def test_looking_creates_no_project(cli: CommandLine) -> None:
    cli("recall", "anything")
    cli("list")
    assert cli("projects", "list", "--json").json["projects"] == []


def test_text_can_come_from_standard_input(cli: CommandLine) -> None:
    cli.ok("remember", "-", given="Two lines,\n  kept as they are.\n")
    assert cli.contents() == ["Two lines,\n  kept as they are."]
    assert cli.ok("recall", "-", given="lines kept").code == 0


@pytest.mark.parametrize(
    ("arguments", "given", "wanted"),
    [
        (("remember", ""), b"", "empty"),
        (("remember", "   "), b"", "empty"),
        (("remember", "-"), b"", "empty"),
        (("remember", "-"), b"\xff\xfe", "UTF-8"),
        (("remember", "-"), b"a\0b", "NUL"),
        (("remember", "-"), b"x" * 100_001, "100000"),
        (("remember", "x\udcff"), b"", "surrogate"),
        (("remember", "x", "-c", "desicion"), b"", "did you mean 'decision'"),
        (("remember", "x", "--time", "31.3.2026"), b"", "not a date"),
        (("remember", "x", "--ttl", "soon"), b"", "12h"),
        (("remember", "x", "--ttl", "0d"), b"", "more than 0"),
        (("recall", "x", "--since", "2026-13-01"), b"", "not a date"),
        (("recall", "x", "--limit", "0"), b"", "limit"),
        (("recall", "x", "-C", "/nonexistent"), b"", "not a folder"),
        (("recall",), b"", "TEXT"),
        (("reccall", "x"), b"", "did you mean 'recall'"),
        (("kv", "gett", "x"), b"", "did you mean 'get'"),
        (("kv", "set", "", "x"), b"", "key"),
        (("import", "/nonexistent.json"), b"", "cannot read"),
        (("import", "-"), b"nothing known", "no format"),
        (("ingest", "/nonexistent"), b"", "does not exist"),
        (("config", "set", "recall.limt", "3"), b"", "recall.limt"),
        (("cleanup",), b"", "--all"),
        (("edit", "12345678"), b"", "nothing to change"),
        (("backup", "restore", "/nonexistent", "--yes"), b"", "nonexistent"),
        (("completion", "tcsh"), b"", "tcsh"),
        (("--nonsense",), b"", "nonsense"),
    ],
)
def test_bad_input_is_a_clear_error_and_writes_nothing(
    cli: CommandLine, arguments: tuple[str, ...], given: bytes, wanted: str
) -> None:
    answer = cli(*arguments, given=given)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert wanted in answer.err
    assert cli.contents() == []


@pytest.mark.parametrize(
    "query", ['"foo AND (', "*", "field:x", "NOT", "a OR", "~2", "\\", "x" * 100_000, "\udcff", "!?"]
)
def test_queries_of_operators_are_answered(cli: CommandLine, query: str) -> None:
    cli.ok("remember", "foo and fields")
    assert cli("recall", query).code in {0, 1}


def test_errors_are_json_too(cli: CommandLine) -> None:
    answer = cli("remember", "x", "-c", "desicion", "--json")
    assert json.loads(answer.err)["error"]["hint"]
    assert answer.out == ""


def test_secrets_are_not_stored_and_it_is_said(cli: CommandLine) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    assert "secret" in cli.ok("remember", f"The token is {secret}, keep it.").out
    assert "secret" in cli.ok("kv", "set", "token", secret).out
    assert secret not in cli.contents()[0] + cli.ok("kv", "get", "token").out


def test_ids_may_be_shortened_to_what_is_shown(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Shorten me.")
    shown = cli.ok("list").out.split()[0]
    assert id_of_memory.endswith(shown)
    assert cli.ok("show", shown, "--json").json["memories"][0]["id"] == id_of_memory


def test_memory_goes_through_edit_archive_restore_delete_and_undo(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Deploy on Thursdays.", "--tag", "ops")
    cli.ok("edit", id_of_memory, "Deploy on Tuesdays.", "-c", "procedure", "--tag", "none", "--topic", "deploy")
    memory = cli.ok("show", id_of_memory, "--json").json["memories"][0]
    assert (memory["content"], memory["category"], memory["tags"], memory["topic"]) == (
        "Deploy on Tuesdays.", "procedure", [], "deploy",
    )  # fmt: skip
    cli.ok("archive", id_of_memory, "--reason", "old")
    assert cli("list").code == 1
    assert cli.contents("--status", "archived") == ["Deploy on Tuesdays."]
    cli.ok("restore", id_of_memory)
    cli.ok("pin", id_of_memory)
    cli.ok("unpin", id_of_memory)
    cli.ok("delete", id_of_memory)
    assert cli("show", id_of_memory).code == 1
    cli.ok("undo")
    history = cli.ok("history", id_of_memory)
    assert "-Deploy on Thursdays." in history.out
    assert "+Deploy on Tuesdays." in history.out
    assert cli.ok("show", id_of_memory).code == 0


def test_memory_can_be_changed_in_an_editor(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Thursdays/Tuesdays/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    id_of_memory = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", id_of_memory, "--editor")
    assert cli.contents() == ["Deploy on Tuesdays."]
    unchanged = cli("edit", id_of_memory, "--editor")
    assert unchanged.code == 2
    assert "not changed" in unchanged.err


def test_undo_without_anything_to_undo_is_exit_code_1(cli: CommandLine) -> None:
    assert cli("undo").code == 1


def test_related_memories_are_shown(cli: CommandLine) -> None:
    first = cli.remember("Orders are stored in PostgreSQL.")
    cli.remember("Orders are kept in a PostgreSQL database.")
    assert "kept in a PostgreSQL" in cli.ok("show", first, "--related").out
    assert cli.ok("show", first, "--related", "--json").json["memories"][0]["related"]


def test_purge_needs_a_yes_and_names_the_backups(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Erase me.")
    backup = cli.ok("backup", "create", "--json").json["path"]
    refused = cli("purge", id_of_memory)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert backup in cli.ok("purge", id_of_memory, "--yes").out
    assert cli("show", id_of_memory).code == 1
    assert cli("history", id_of_memory).code == 1


def test_projects_are_kept_apart_unless_all_are_asked(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    cli.ok("remember", "Of the shop.")
    cli.ok("-C", str(other), "remember", "Of the other.")
    cli.ok("remember", "Of the person.", "--global")
    assert cli.contents() == ["Of the person.", "Of the shop."]
    assert cli.contents("-C", str(other)) == ["Of the person.", "Of the other."]
    assert cli.contents("--scope", "project") == ["Of the shop."]
    assert len(cli.contents("--all-projects")) == 3
    assert "Of the other." not in cli("recall", "other").out
    assert "Of the other." in cli.ok("recall", "other", "--all-projects").out
    assert cli.contents("-p", str(other), "--scope", "project") == ["Of the other."]


def test_projects_are_found_from_the_remote_and_can_be_renamed_and_merged(cli: CommandLine, tmp_path: Path) -> None:
    git = ["git", "-c", "init.defaultBranch=main", "-C", str(cli.folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "git@example.org:acme/shop.git"], check=True)
    cli.ok("remember", "Of the shop.")
    (tmp_path / "other").mkdir()
    cli.ok("-C", str(tmp_path / "other"), "remember", "Of the other.")
    assert "example.org/acme/shop" in cli.ok("projects", "list").out
    cli.ok("projects", "rename", "example.org/acme/shop", "shop")
    assert cli.ok("projects", "list", "--json").json["current"] == "shop"
    assert cli("projects", "merge", str(tmp_path / "other"), "shop").code == 2
    cli.ok("projects", "merge", str(tmp_path / "other"), "shop", "--yes")
    assert cli.contents("--scope", "project") == ["Of the other.", "Of the shop."]
    assert cli.contents("-C", str(tmp_path / "other"), "--scope", "project") == ["Of the other.", "Of the shop."]


def test_period_and_filters_narrow_a_recall(cli: CommandLine) -> None:
    cli.ok("remember", "Release of spring.", "--time", "2026-03-01", "-e", "!12")
    cli.ok("remember", "Release of autumn.", "--time", "2026-09-01", "-c", "event")
    assert "autumn" not in cli.ok("recall", "release", "--until", "2026-03-01").out
    assert "spring" not in cli.ok("recall", "release", "--since", "2026-03-02").out
    assert "spring" not in cli.ok("recall", "release", "-c", "event").out
    assert "autumn" not in cli.ok("recall", "release", "-e", "!12").out
    assert cli("recall", "release", "--as-of", "2020-01-01").code == 1


def test_values_are_kept_by_key(cli: CommandLine) -> None:
    cli.ok("kv", "set", "count", "3")
    cli.ok("kv", "set", "plan", '{"step": 1}', "--ttl", "never")
    cli.ok("kv", "set", "note", "3", "--text", "--ttl", "90")
    assert cli.ok("kv", "get", "plan").out == '{"step": 1}\n'
    assert cli.ok("kv", "get", "count", "--json").json["entry"]["value"] == 3
    assert cli.ok("kv", "get", "note", "--json").json["entry"]["value"] == "3"
    listed = cli.ok("kv", "list").out
    assert "never" in listed
    assert "in 6 d" in listed
    assert cli.ok("kv", "list", "no").out.split()[0] == "note"
    cli.ok("kv", "delete", "count")
    assert cli("kv", "delete", "count").code == 1


def test_cleanup_combines_criteria_and_stays_in_the_project(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    decision = cli.remember("A decision.", "-c", "decision")
    cli.ok("remember", "A fact.")
    cli.ok("remember", "A global fact.", "--global")
    cli.ok("-C", str(tmp_path / "other"), "remember", "Another project's decision.", "-c", "decision")
    dry = cli.ok("cleanup", "--all", "--dry-run")
    assert "2 would be deleted" in dry.out
    assert cli("cleanup", "--ids", decision, "--category", "fact").code == 1
    assert cli("cleanup", "--category", "decision").code == 2  # nobody to ask
    cli.ok("cleanup", "--all", "--scope", "decision", "--force")
    assert cli.contents("-a") == ["Another project's decision.", "A global fact.", "A fact."]
    cli.ok("undo")
    assert cli("cleanup", "--older-than", "1", "--yes").code == 1
    deleted = cli.ok("cleanup", "--ids", f"{decision[-8:]},", "--yes", "--json").json
    assert deleted == {"found": [decision], "deleted": [decision], "dry_run": False}
    cli.ok("cleanup", "--scope", "global", "--all", "--yes")
    assert cli.contents("-a") == ["Another project's decision.", "A fact."]


def test_backups_are_made_listed_restored_and_the_oldest_give_way(cli: CommandLine) -> None:
    cli.ok("config", "set", "backup.keep", "2")
    cli.ok("remember", "Before.")
    paths = [cli.ok("backup", "create", "--json").json["path"] for _ in range(3)]
    assert [Path(path).exists() for path in paths] == [False, True, True]
    cli.ok("remember", "After.")
    assert len(cli.ok("backup", "list", "--json").json["backups"]) == 2
    cli.ok("backup", "restore", paths[2], "--yes")
    assert cli.contents() == ["Before."]


def test_store_is_verified_repaired_and_reindexed(cli: CommandLine) -> None:
    cli.ok("remember", "Check me.")
    assert "no problems" in cli.ok("verify").out
    assert cli.ok("verify", "--json").json["ok"] is True
    assert "No damage found." in cli.ok("repair").out
    assert cli.ok("reindex", "--json").json["texts"] == 1
    assert "1 memory in 1 project" in cli.ok("stats").out
    assert cli.ok("stats", "--json").json["project"]["memories"] == 1


def test_doctor_finds_what_is_wrong(cli: CommandLine, tmp_path: Path) -> None:
    assert "problem" not in cli.ok("doctor").out
    cli.ok("remember", "x")
    assert cli.ok("doctor", "--json").json["ok"] is True
    other = tmp_path / "data" / "opencode" / "memory" / "memory.db"
    other.parent.mkdir(parents=True)
    other.touch()
    (tmp_path / "data" / "opencode-memory" / "store").chmod(0o755)
    answer = cli("doctor")
    assert answer.code == 1
    assert "chmod 700" in answer.out
    assert "@opencode-manager/memory" in answer.out


def test_notes_are_ingested_and_kept_in_step(cli: CommandLine) -> None:
    (cli.folder / "docs").mkdir()
    note = cli.folder / "docs" / "deploy.md"
    note.write_text("# Deploy\n\nOn Thursdays.\n\n# Roll back\n\nBy hand.\n", encoding="utf-8")
    (cli.folder / "docs" / "latin.md").write_bytes(b"\xe9")
    assert cli.ok("ingest", "docs", "--dry-run").out == "1 note: 2 added. Nothing was written.\n"
    answer = cli.ok("ingest", "docs")
    assert answer.out == "1 note: 2 added.\n"
    assert "latin.md: not UTF-8" in answer.err
    assert "By hand." in cli.ok("recall", "roll back a release").out
    note.write_text("# Deploy\n\nOn Tuesdays.\n", encoding="utf-8")
    assert cli.ok("ingest", "docs").out == "1 note: 1 updated, 1 archived.\n"
    note.unlink()
    assert cli.ok("ingest", "docs/deploy.md", "--json").json["archived"] == 1
    assert cli("list").code == 1


def test_notes_of_a_repository_are_known_by_their_path_in_it_from_every_work_tree(cli: CommandLine) -> None:
    git = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", "../tree"],
    ):
        subprocess.run([*git, *arguments], check=True, cwd=cli.folder, capture_output=True)
    (cli.folder / "README.md").write_text("# Read me\n", encoding="utf-8")
    (cli.folder.parent / "tree" / "README.md").write_text("# Read me\n", encoding="utf-8")
    cli.ok("ingest", ".")
    again = cli.ok("-C", "../tree", "ingest", "../tree", "--json").json
    assert (again["added"], again["unchanged"]) == (0, 1)


def test_everything_moves_to_another_store_and_back(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("remember", "Deploy on Thursdays.", "--topic", "deploy")
    cli.ok("remember", "For me everywhere.", "--global")
    cli.ok("kv", "set", "count", "3")
    assert cli.ok("export", "-o", "all.json").out.startswith("all.json: 1 project, 2 memories")
    assert cli.ok("export", "--format", "markdown").out.startswith("<!-- opencode-memory export")
    other = ("--data-dir", str(tmp_path / "elsewhere"))
    assert "2 memories" in cli.ok("import", "all.json", "--dry-run", *other).out
    assert cli.contents(*other) == []
    assert "2 stored" in cli.ok("import", "all.json", *other).out
    assert sorted(cli.contents(*other)) == ["Deploy on Thursdays.", "For me everywhere."]
    assert cli.ok("kv", "get", "count", *other).out == "3\n"
    again = cli.ok("import", "-", "--json", *other, given=(cli.folder / "all.json").read_bytes()).json
    assert again["counts"]["memory"] == {"merged": 2}


def test_configuration_is_shown_and_changed(cli: CommandLine) -> None:
    file = cli.ok("config", "path").out.strip()
    cli.ok("config", "set", "recall.limit", "1")
    assert Path(file).read_text(encoding="utf-8") == "[recall]\nlimit = 1\n"
    shown = cli.ok("config", "show", "--json").json["values"]["recall.limit"]
    assert shown == {"value": 1, "origin": "file"}
    cli.ok("remember", "Pears are ripe.")
    cli.ok("remember", "Pears are green.")
    assert len(cli.ok("recall", "pears", "--json").json["hits"]) == 1
    cli.ok("config", "set", "recall.limit", "--default")
    assert "default" in cli.ok("config", "show").out
    Path(file).write_text("nonsense = 1\n", encoding="utf-8")
    assert cli("list").code == 2


def test_completion_scripts_are_printed(cli: CommandLine) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_COMPLETE" in cli.ok("completion", shell).out


def test_demo_answers_its_questions_and_leaves_nothing_behind(cli: CommandLine, tmp_path: Path) -> None:
    answers = {answer["question"]: answer["hits"] for answer in cli.ok("demo", "--json").json["answers"]}
    expected = {
        "may I deploy on Friday?": "on-call list",
        "how do I undo a bad release?": "# Roll back",
        "parseOrderTotal": "only place that turns text into an amount",
        "how do we give customers their money back?": "same way it came",
    }
    for question, text in expected.items():
        assert text in answers[question][0]["memory"]["content"]
    assert answers["what is the capital of Mongolia?"] == []
    assert "No memory is relevant." in cli.ok("demo").out
    assert not (tmp_path / "data").exists()
