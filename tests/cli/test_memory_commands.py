"""Commands that store, search and change memories and values, on real stores."""

from __future__ import annotations

import re
import shlex
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import click
import pytest

import opencode_memory
from support.command_line import CommandLine


def test_recall_finds_memory_by_meaning_and_explains_it(cli: CommandLine) -> None:
    cli.ok("remember", "Use", "pnpm,", "not", "npm.", "-c", "convention", "--tag", "tools")
    answer = cli.ok("recall", "which package manager", "--explain")
    assert "Use pnpm, not npm." in answer.out
    assert "convention" in answer.out
    assert "cosine" in answer.out


def test_absolute_path_below_the_folder_is_the_relative_one(cli: CommandLine) -> None:
    cli.ok("remember", f"The port stands in {cli.folder}/src/app.py.")
    for file in ("src/app.py", f"{cli.folder}/src/app.py", (cli.folder / "src" / "app.py").as_uri()):
        [hit] = cli.ok("recall", "port", "--entity", file, "--json").json["hits"]
        assert hit["memory"]["entities"] == ["src/app.py"]


def test_recall_json_has_the_fields_of_the_api(cli: CommandLine) -> None:
    id_of_memory = cli.remember("We chose PostgreSQL.", "-c", "decision", "--topic", "db", "-e", "PostgreSQL", "--pin")
    hit = cli.ok("recall", "PostgreSQL", "--json", "--explain").json["hits"][0]
    memory = hit["memory"]
    assert (hit["rank"], memory["id"], memory["category"], memory["topic"]) == (1, id_of_memory, "decision", "db")
    assert (memory["entities"], memory["pinned"], memory["project"]) == (["PostgreSQL"], True, str(cli.folder))
    assert memory["created_at"].endswith("Z")
    assert sum(signal["contribution"] for signal in hit["explanation"]["signals"]) == pytest.approx(hit["score"])


def test_recall_names_the_earlier_statement_in_its_correction(cli: CommandLine) -> None:
    cli.ok("remember", "Use npm to install packages.")
    cli.ok("remember", "Use pnpm instead of npm.")
    out = cli.ok("recall", "which package manager do we use").out
    assert "changed now; before: Use npm to install packages." in " ".join(out.split())
    [hit] = cli.ok("recall", "which package manager do we use", "--json").json["hits"]
    assert [memory["content"] for memory in hit["before"]] == ["Use npm to install packages."]


def test_empty_answer_is_explained_by_the_nearest_memories(cli: CommandLine) -> None:
    cli.ok("remember", "Deploys to production need ./scripts/deploy.sh.")
    question = "what is the capital of Mongolia?"
    plain = cli("recall", question)
    assert (plain.code, plain.out) == (1, "")
    explained = cli("recall", question, "--explain")
    assert explained.code == 1
    assert "Deploys to production need ./scripts/deploy.sh." in explained.out
    assert "the best hit of an answer must reach 0.13" in explained.out
    [near] = cli("recall", question, "--explain", "--json").json["nearest"]
    assert near["relevance"] < near["floor"]


def test_explanation_of_an_empty_store_says_that_nothing_is_near(cli: CommandLine) -> None:
    assert "No memory here shares a word" in cli("recall", "anything", "--explain").out


def test_weaker_hits_are_left_out_unless_they_are_asked_for(cli: CommandLine) -> None:
    cli.ok("remember", "Deploys to production need ./scripts/deploy.sh.")
    for number in range(8):
        cli.ok("remember", f"The printer on floor {number} is called {'abcdefgh'[number] * 5}.")
    question = "which script deploys to production?"
    contents = [hit["memory"]["content"] for hit in cli.ok("recall", question, "--json").json["hits"]]
    assert contents == ["Deploys to production need ./scripts/deploy.sh."]
    uncut = cli.ok("recall", question, "--json", "--uncut").json["hits"]
    assert len(uncut) > 1


def test_section_of_a_note_is_named_by_file_line_and_headings(cli: CommandLine) -> None:
    note = cli.folder / "docs" / "deploy.md"
    note.parent.mkdir()
    note.write_text("# Deploying\n\nRun the script.\n\n## Rollback\n\nTo undo a release, run revert.sh.\n")
    cli.ok("ingest", "docs")
    answer = cli.ok("recall", "how do I undo a release?")
    assert "docs/deploy.md:5 > Deploying > Rollback" in answer.out
    [hit] = cli.ok("recall", "how do I undo a release?", "--json", "-n", "1").json["hits"]
    assert hit["headings"] == ["Deploying", "Rollback"]


def test_reading_creates_no_project(cli: CommandLine) -> None:
    cli("recall", "anything")
    cli("list")
    assert cli("projects", "list", "--json").json["projects"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--scope", "project"),
        ("recall", "anything", "--scope", "project"),
        ("recall", "anything", "--scope", "project", "--explain"),
        ("cleanup", "--all", "--dry-run"),
    ],
    ids=shlex.join,
)
def test_folder_without_memories_has_none_of_its_own(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    cli.ok("-C", str(cli.folder.parent), "remember", "Use pnpm, not npm.", "--global")
    projects = cli.ok("projects", "list", "--json").json["projects"]
    answer = cli(*arguments)
    assert answer.code == (0 if "list" in arguments else 1)
    assert "error" not in answer.err
    assert "npm" not in answer.out
    assert cli.ok("projects", "list", "--json").json["projects"] == projects


def test_text_dash_reads_standard_input(cli: CommandLine) -> None:
    cli.ok("remember", "-", given="Two lines,\n  kept as they are.\n")
    assert cli.contents() == ["Two lines,\n  kept as they are."]
    assert cli.ok("recall", "-", given="lines kept").code == 0


def test_secret_is_redacted_and_reported(cli: CommandLine) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    assert "secret" in cli.ok("remember", f"The token is {secret}, keep it.").out
    assert "github-token" in cli.ok("edit", cli.remember("It is in the vault."), f"It is {secret}.").out
    assert "secret" in cli.ok("kv", "set", "token", secret).out
    assert secret not in "".join(cli.contents()) + cli.ok("kv", "get", "token").out


def test_shortened_id_from_list_finds_memory(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Shorten me.")
    shown = cli.ok("list").out.split()[0]
    assert id_of_memory.endswith(shown)
    assert cli.ok("show", shown, "--json").json["memories"][0]["id"] == id_of_memory


def test_curation_commands_change_and_restore_memory(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Deploy on Thursdays.", "--tag", "ops")
    cli.ok("edit", id_of_memory, "Deploy on Tuesdays.", "-c", "procedure", "--tag", "none", "--topic", "deploy")
    memory = cli.ok("show", id_of_memory, "--json").json["memories"][0]
    assert (memory["content"], memory["category"], memory["tags"], memory["topic"]) == (
        "Deploy on Tuesdays.", "procedure", [], "deploy",
    )  # fmt: skip
    cli.ok("archive", id_of_memory, "--reason", "old")
    assert cli.contents() == []
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


def test_edit_opens_editor_and_rejects_unchanged_text(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Thursdays/Tuesdays/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("opencode_memory.cli.editor.has_terminal", lambda: True)
    id_of_memory = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", id_of_memory, "--editor")
    assert cli.contents() == ["Deploy on Tuesdays."]
    unchanged = cli("edit", id_of_memory, "--editor")
    assert unchanged.code == 2
    assert "not changed" in unchanged.err


def test_text_that_was_stored_while_the_editor_was_open_stays(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_of_memory = cli.remember("Deploy on Thursdays.")

    def edit(text: str) -> str:
        cli.ok("edit", id_of_memory, "Deploy on Fridays.")
        return text.replace("Thursdays", "Tuesdays")

    monkeypatch.setattr("opencode_memory.cli.edit.edit_text", lambda text, **_: edit(text))
    refused = cli("edit", id_of_memory, "--editor")
    assert refused.code == 2
    assert "Deploy on Tuesdays." in refused.err
    assert cli.contents() == ["Deploy on Fridays."]


@pytest.mark.parametrize("command", ["edit", "merge"])
def test_text_of_the_editor_that_is_refused_is_kept_in_a_file(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    ids = [cli.remember("Deploy on Thursdays."), cli.remember("Orders are stored in PostgreSQL.")]
    written = "word " * 30_000
    monkeypatch.setattr(f"opencode_memory.cli.{command}.edit_text", lambda *_, **__: written)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    refused = cli("edit", ids[0], "--editor") if command == "edit" else cli("merge", *ids)
    assert (refused.code, "100000" in refused.err) == (2, True)
    (kept,) = tmp_path.glob("opencode-memory-*.md")
    assert f"your text is in {kept}" in refused.err
    assert kept.read_text() == written


def test_text_of_the_editor_is_kept_in_a_file_if_the_memory_was_erased_meanwhile(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    id_of_memory = cli.remember("Deploy on Thursdays.")

    def edit(text: str) -> str:
        cli.ok("purge", id_of_memory, "--yes")
        return text.replace("Thursdays", "Tuesdays")

    monkeypatch.setattr("opencode_memory.cli.edit.edit_text", lambda text, **_: edit(text))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    refused = cli("edit", id_of_memory, "--editor")
    (kept,) = tmp_path.glob("opencode-memory-*.md")
    assert (refused.code, f"your text is in {kept}" in refused.err) == (1, True)
    assert kept.read_text() == "Deploy on Tuesdays."


@pytest.mark.parametrize(
    ("arguments", "instead"), [(("edit", "{}", "--editor"), "edit {} TEXT"), (("merge", "{}", "{}"), "--text TEXT")]
)
def test_no_editor_is_opened_without_a_terminal(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], instead: str
) -> None:
    monkeypatch.setattr(click, "edit", lambda *_, **__: pytest.fail("an editor was opened"))
    ids = [cli.remember("Deploy on Thursdays."), cli.remember("Orders are stored in PostgreSQL.")]
    names = iter(ids)
    refused = cli(*(next(names) if word == "{}" else word for word in arguments))
    assert (refused.code, refused.out) == (2, "")
    assert "no terminal is attached" in refused.err
    assert instead.format(ids[0]) in refused.err.splitlines()[1]
    assert len(cli.contents()) == 2


def test_undo_without_changes_exits_with_1(cli: CommandLine) -> None:
    assert cli("undo").code == 1


def test_show_related_prints_related_memories(cli: CommandLine) -> None:
    first = cli.remember("Orders are stored in PostgreSQL.")
    cli.remember("Orders are kept in a PostgreSQL database.")
    assert "kept in a PostgreSQL" in cli.ok("show", first, "--related").out
    assert cli.ok("show", first, "--related", "--json").json["memories"][0]["related"]


def test_show_names_what_was_said_later(cli: CommandLine) -> None:
    first = cli.remember("Never push to main.", "-c", "directive")
    later = cli.remember("You may push to main for hotfixes.")
    out = cli.ok("show", first).out
    assert f"said later, now, {later[-8:]}\n    You may push to main for hotfixes." in out
    assert "said later" not in cli.ok("show", later).out


def test_purge_that_leaves_no_text_is_complete(cli: CommandLine) -> None:
    assert cli.ok("purge", cli.remember("Erase me."), "--yes", "--json").json["complete"] is True


def test_purge_that_left_a_text_says_so_in_its_exit_code(cli: CommandLine) -> None:
    first, second = cli.remember("Erase me."), cli.remember("Erase me as well.")
    backup = Path(cli.ok("backup", "create", "--json").json["path"])
    backup.write_bytes(b"no backup any more")
    purged = cli("purge", first, "--yes")
    assert (purged.code, "Not erased: cannot check whether a backup contains it" in purged.out) == (1, True)
    answer = cli("purge", second, "--yes", "--json")
    assert (answer.code, answer.json["complete"], answer.json["memories"]) == (1, False, 1)


def test_purge_requires_confirmation_and_names_backups(cli: CommandLine) -> None:
    id_of_memory = cli.remember("Erase me.")
    backup = cli.ok("backup", "create", "--json").json["path"]
    refused = cli("purge", id_of_memory)
    assert refused.code == 2
    assert "--yes" in refused.err
    purged = cli("purge", id_of_memory, "--yes")
    assert (purged.code, f"Still contained in the backup {backup}" in purged.out) == (1, True)
    assert cli("show", id_of_memory).code == 1
    assert cli("history", id_of_memory).code == 1


def test_recall_filters_by_period_category_and_entity(cli: CommandLine) -> None:
    cli.ok("remember", "Release of spring.", "--time", "2026-03-01", "-e", "!12")
    cli.ok("remember", "Release of autumn.", "--time", "2026-09-01", "-c", "event")
    assert "autumn" not in cli.ok("recall", "release", "--until", "2026-03-01").out
    assert "spring" not in cli.ok("recall", "release", "--since", "2026-03-02").out
    assert "spring" not in cli.ok("recall", "release", "-c", "event").out
    assert "autumn" not in cli.ok("recall", "release", "-e", "!12").out
    assert cli("recall", "release", "--as-of", "2020-01-01").code == 1


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1" * 5000], ids=["nan", "infinity", "long number"])
def test_kv_stores_what_is_no_json_as_text(cli: CommandLine, value: str) -> None:
    cli.ok("kv", "set", "note", "--", value)
    assert cli.ok("kv", "get", "note", "--json").json["entry"]["value"] == value


def test_kv_stores_lists_and_deletes_values(cli: CommandLine) -> None:
    cli.ok("kv", "set", "count", "3")
    cli.ok("kv", "set", "plan", '{"step": 1}', "--ttl", "never")
    cli.ok("kv", "set", "note", "3", "--text", "--ttl", "90")
    assert cli.ok("kv", "get", "plan").out == '{"step": 1}\n'
    assert cli.ok("kv", "get", "count", "--json").json["entry"]["value"] == 3
    assert cli.ok("kv", "get", "note", "--json").json["entry"]["value"] == "3"
    listed = cli.ok("kv", "list").out
    assert "never" in listed
    assert "in 1 w" in listed
    assert cli.ok("kv", "list", "no").out.split()[0] == "note"
    cli.ok("kv", "delete", "count")
    assert cli("kv", "delete", "count").code == 1


@pytest.mark.parametrize("command", [("cleanup", "--all"), ("purge", "ID")])
def test_no_to_the_question_changes_nothing_and_exits_with_1(cli: CommandLine, command: tuple[str, ...]) -> None:
    memory = cli.remember("A fact.")
    answer = cli(*(memory if word == "ID" else word for word in command), given="n\n", at_terminal=True)
    assert answer.code == 1
    assert "Deleted" not in answer.out
    assert cli.contents() == ["A fact."]


def test_cleanup_requires_all_criteria_and_stays_in_project(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    decision = cli.remember("A decision.", "-c", "decision")
    cli.ok("remember", "A fact.")
    cli.ok("remember", "A global fact.", "--global")
    cli.ok("-C", str(tmp_path / "other"), "remember", "Another project's decision.", "-c", "decision")
    dry = cli.ok("cleanup", "--all", "--dry-run")
    assert "2 would be deleted" in dry.out
    assert cli("cleanup", "--ids", decision, "--category", "fact").code == 1
    assert cli("cleanup", "--category", "decision").code == 2  # standard input is not a terminal
    cli.ok("cleanup", "--all", "--scope", "decision", "--force")
    assert cli.contents("-a") == ["Another project's decision.", "A global fact.", "A fact."]
    cli.ok("undo")
    assert cli("cleanup", "--older-than", "1", "--yes").code == 1
    deleted = cli.ok("cleanup", "--ids", f"{decision[-8:]},", "--yes", "--json").json
    assert deleted == {"found": [decision], "deleted": [decision], "dry_run": False}
    cli.ok("cleanup", "--scope", "global", "--all", "--yes")
    assert cli.contents("-a") == ["Another project's decision.", "A fact."]


def test_remember_names_what_it_replaced(cli: CommandLine) -> None:
    older = cli.remember("The API listens on port 8080.")
    said = cli.ok("remember", "The API listens on port 9000.").out
    assert f"Replaced: {older[-8:]}" in said or f"Replaced: {older[:8]}" in said
    assert "undo" in said
    assert "8080" not in cli.ok("list").out


def test_first_recall_of_the_readme_finds_its_only_memory(cli: CommandLine) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    remember, recall = (
        shlex.split(re.findall(rf"`opencode-memory ({command} [^`]+)`", readme)[0])
        for command in ("remember", "recall")
    )
    cli.ok(*remember)
    [hit] = cli.ok(*recall, "--json").json["hits"]
    assert hit["memory"]["content"] == remember[1]


def test_merge_puts_one_memory_in_the_place_of_several(cli: CommandLine) -> None:
    ids = [cli.remember("Deploy on Thursdays.", "-t", "ops"), cli.remember("Deploy after the tests.", "-t", "tests")]
    assert cli.ok("merge", *ids, "--dry-run").out.startswith("Would be merged into")
    merged = cli.ok("merge", *ids, "--text", "Deploy on Thursdays, after the tests.", "--json").json
    assert merged["superseded"] == [ids[1]]
    assert (merged["memory"]["id"], merged["memory"]["tags"]) == (ids[0], ["ops", "tests"])
    assert [found["content"] for found in cli.ok("list", "--json").json["memories"]] == [
        "Deploy on Thursdays, after the tests."
    ]
    cli.ok("undo")
    assert len(cli.ok("list", "--json").json["memories"]) == 2


@pytest.mark.parametrize("more", [("--dry-run",), ("--text", "Deploy."), ()])
def test_merge_that_is_not_possible_is_refused_before_the_editor_and_in_a_dry_run(
    cli: CommandLine, more: tuple[str, ...]
) -> None:
    one, gone, elsewhere = (
        cli.remember("Deploy on Thursdays."),
        cli.remember("Deploy after the tests."),
        cli.remember("The user deploys slowly.", "--global"),
    )
    cli.ok("archive", gone)
    for other, reason in (
        (gone, "it is archived, not active"),
        (elsewhere, "it belongs to every project, and the first"),
    ):
        refused = cli("merge", one, other, *more)
        assert refused.code == 2
        assert f"memory {other[-8:]} cannot be merged: {reason}" in refused.err


def test_merge_of_one_memory_is_refused(cli: CommandLine) -> None:
    id = cli.remember("Deploy on Thursdays.")
    refused = cli("merge", id, id, "--text", "Deploy.")
    assert refused.code != 0
    assert "two or more different memories are needed" in refused.err


def test_edit_takes_the_text_as_an_option_but_only_once(cli: CommandLine) -> None:
    id = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", id, "--content", "Deploy on Fridays.")
    assert cli.ok("list", "--json").json["memories"][0]["content"] == "Deploy on Fridays."
    refused = cli("edit", id, "Deploy daily.", "--content", "Deploy never.")
    assert refused.code == 2
    assert "give the text once" in refused.err


def test_empty_review_is_no_failure(cli: CommandLine) -> None:
    answer = cli.ok("review")
    assert (answer.out, "No memory is pending." in answer.err) == ("", True)


def test_unreadable_import_says_which_path_it_wants(cli: CommandLine) -> None:
    refused = cli("import", "missing.json")
    assert refused.code == 2
    assert "a relative path begins in the current folder" in refused.err


def test_project_without_memories_names_those_of_others(cli: CommandLine) -> None:
    other = cli.folder / "other"
    other.mkdir()
    assert "Nothing found." in cli("recall", "deploy").err
    cli.ok("remember", "We deploy on Thursdays.", "-C", str(other))
    for command in (["recall", "deploy"], ["list"]):
        assert "Others have 1 memory: --all-projects" in cli(*command).err
    assert "We deploy" in cli.ok("list", "--all-projects").out
    assert "We deploy" in cli.ok("recall", "deploy", "--all-projects").out
    assert "--all-projects" not in cli("recall", "walrus", "-C", str(other)).err


@pytest.mark.parametrize("change", [("edit", "--tag", "old"), ("pin",), ("restore",)])
def test_change_of_an_expired_memory_says_that_no_recall_shows_it(cli: CommandLine, change: tuple[str, ...]) -> None:
    with opencode_memory.open(project=str(cli.folder)) as store:
        id_ = store.remember("The freeze ends tonight.", expires_at="2020-01-01T00:00+00:00").id
    changed = cli.ok(change[0], id_, *change[1:])
    assert "so no recall shows it" in changed.err
    cli.ok("edit", id_, "--expires", "none")
    assert "no recall" not in cli.ok(change[0], id_, *change[1:]).err
    assert "The freeze ends tonight." in cli.ok("list").out


def test_span_as_expiry_lies_in_the_future(cli: CommandLine) -> None:
    id_ = cli.remember("Use pnpm.")
    cli.ok("edit", id_, "--expires", "30d")
    [memory] = cli.ok("list", "--json").json["memories"]
    created, expires = (datetime.fromisoformat(memory[name]) for name in ("created_at", "expires_at"))
    assert timedelta(days=29) < expires - created < timedelta(days=31)


def test_expiry_in_the_past_is_refused(cli: CommandLine) -> None:
    id_ = cli.remember("Use pnpm.")
    refused = cli("edit", id_, "--expires", "yesterday")
    assert refused.code == 2
    assert "--expires: 'yesterday' is not in the future" in refused.err
    assert "archive" in refused.err
    assert "Use pnpm." in cli.ok("list").out
