"""Commands for projects, backups, notes, exports and the configuration, on real stores."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import opencode_memory
from support.command_line import CommandLine
from support.stores import rename_unchecked


def test_commands_see_only_their_project_unless_all_are_requested(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    cli.ok("remember", "Of the shop.")
    cli.ok("-C", str(other), "remember", "Of the other.")
    cli.ok("remember", "For all projects.", "--global")
    assert cli.contents() == ["For all projects.", "Of the shop."]
    assert cli.contents("-C", str(other)) == ["For all projects.", "Of the other."]
    assert cli.contents("--scope", "project") == ["Of the shop."]
    assert len(cli.contents("--all-projects")) == 3
    assert "Of the other." not in cli("recall", "other").out
    assert "Of the other." in cli.ok("recall", "other", "--all-projects").out
    assert cli.contents("-p", str(other), "--scope", "project") == ["Of the other."]


def test_mistyped_project_is_noticed_and_a_new_one_is_not(cli: CommandLine) -> None:
    assert cli("list", "-p", "shop").err == "Nothing found.\n"
    assert cli.ok("remember", "Of the shop.", "-p", "shop").err == ""
    for command in (["log"], ["stats"], ["remind", "list"], ["kv", "list"]):
        assert cli(*command, "-p", "shpo").err.startswith("No project is named 'shpo' yet; did you mean 'shop'?\n")
        assert cli(*command, "-p", "other").err.startswith(
            "No project is named 'other'. `opencode-memory projects list`"
        )
        assert "No project" not in cli(*command, "-p", "shop").err
    assert cli.ok("remember", "Of another.", "-p", "other").err == ""
    assert "did you mean 'shop'?" in cli.ok("remember", "Mistyped.", "-p", "shops").err
    assert cli("list", "-p", "nothing", "--json").err == ""


@pytest.mark.parametrize("name", ["bad\nname", "a\tb", "red \x1b[31m", "\x9b31m", "hidden\u202e"])
def test_project_name_with_control_characters_is_refused(cli: CommandLine, name: str) -> None:
    cli.ok("remember", "Of the shop.", "-p", "shop")
    for command in (["remember", "text", "-p", name], ["projects", "rename", "shop", name]):
        refused = cli(*command)
        assert (refused.code, refused.out) == (2, "")
        assert "control characters" in refused.err
        assert name not in refused.err
    assert [project["name"] for project in cli.ok("projects", "list", "--json").json["projects"]] == ["shop"]


def test_project_with_a_bad_name_of_an_earlier_version_can_be_renamed(cli: CommandLine) -> None:
    with opencode_memory.open(project="good", background=False) as store:
        store.remember("Of the shop.")
    rename_unchecked(store.data_dir, "good", "bad\nname")
    cli.ok("projects", "rename", "bad\nname", "shop")
    assert cli.contents("-p", "shop") == ["Of the shop."]


def test_restore_of_a_missing_backup_names_those_that_exist(cli: CommandLine) -> None:
    cli.ok("remember", "Of the shop.")
    missing = cli("backup", "restore", "nope")
    assert (missing.code, missing.err.splitlines()[0]) == (2, "error: there is no backup nope")
    assert "this store has no backups" in missing.err
    paths = [cli.ok("backup", "create", "--json").json["path"] for _ in range(4)]
    hint = cli("backup", "restore", "nope", "--yes").err.splitlines()[1]
    assert hint == f"hint: the backups are {', '.join(reversed(paths[1:]))}, and 1 more: opencode-memory backup list"
    assert cli.contents() == ["Of the shop."]


def test_failed_restores_push_no_backup_out(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("config", "set", "backup.keep", "2")
    cli.ok("remember", "Of the shop.")
    good = cli.ok("backup", "create", "--json").json["path"]
    (tmp_path / "bad.db").write_bytes(b"no database" * 1000)
    for _ in range(3):
        assert cli("backup", "restore", str(tmp_path / "bad.db"), "--yes").code != 0
    assert [backup["path"] for backup in cli.ok("backup", "list", "--json").json["backups"]] == [good]
    cli.ok("backup", "create")
    assert Path(good).exists()


def test_doctor_reports_an_unusable_configuration_once(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_RECALL_LIMIT", "many")
    checks = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "configuration"]
    assert [(check["level"], "recall.limit" in check["text"]) for check in checks] == [("problem", True)]
    monkeypatch.setenv("OPENCODE_MEMORY_RECALL_LIMIT", "7")
    monkeypatch.setenv("OPENCODE_MEMORY_RECAL_LIMIT", "8")
    said, unknown = [check for check in cli("doctor", "--json").json["checks"] if check["name"] == "configuration"]
    assert said["text"].endswith("; OPENCODE_MEMORY_RECALL_LIMIT")
    assert (unknown["level"], unknown["hint"]) == ("note", "did you mean OPENCODE_MEMORY_RECALL_LIMIT?")


def test_project_from_remote_can_be_renamed_and_merged(cli: CommandLine, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("new", "number"),
    [("shop", "belongs to no repository"), ("example.org/acme/Store", "is one of example.org/acme/store")],
)
def test_rename_says_that_a_number_alone_means_another_item(cli: CommandLine, new: str, number: str) -> None:
    cli.ok("-p", "example.org/acme/Shop", "remember", "The release waits for #12.")
    assert cli.ok("projects", "rename", "example.org/acme/Shop", "example.org/acme/shop").err == ""
    renamed = cli.ok("projects", "rename", "example.org/acme/shop", new)
    assert f"as example.org/acme/shop#12. Name them in full: a number alone {number} now." in renamed.err
    assert cli.ok("-p", new, "list", "--json").json["memories"][0]["entities"] == ["example.org/acme/shop#12"]


def test_backup_keeps_newest_backups_and_restores_one(cli: CommandLine) -> None:
    cli.ok("config", "set", "backup.keep", "2")
    cli.ok("remember", "Before.")
    paths = [cli.ok("backup", "create", "--json").json["path"] for _ in range(3)]
    assert [Path(path).exists() for path in paths] == [False, True, True]
    cli.ok("remember", "After.")
    assert len(cli.ok("backup", "list", "--json").json["backups"]) == 2
    cli.ok("backup", "restore", paths[2], "--yes")
    assert cli.contents() == ["Before."]


def test_verify_repair_and_reindex_report_intact_store(cli: CommandLine) -> None:
    cli.ok("remember", "Check me.")
    assert "no problems" in cli.ok("verify").out
    assert cli.ok("verify", "--json").json["ok"] is True
    assert "No damage found." in cli.ok("repair").out
    assert cli.ok("reindex", "--json").json["texts"] == 1
    assert "1 memory in 1 project" in cli.ok("stats").out
    assert cli.ok("stats", "--json").json["project"]["memories"] == 1


def test_doctor_reports_permissions_and_other_systems(cli: CommandLine, tmp_path: Path) -> None:
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


def test_ingest_synchronizes_memories_with_notes(cli: CommandLine) -> None:
    (cli.folder / "docs").mkdir()
    note = cli.folder / "docs" / "deploy.md"
    note.write_text("# Deploy\n\nOn Thursdays, after all tests.\n\n# Roll back\n\nBy hand.\n", encoding="utf-8")
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
    assert cli.contents() == []


def test_ingest_names_renamed_files_and_headings(cli: CommandLine) -> None:
    docs = cli.folder / "docs"
    docs.mkdir()
    (docs / "deploy.md").write_text(
        "# Deploy\n\nOn Thursdays, after all tests.\n\n# Roll back\n\nBy hand.\n", encoding="utf-8"
    )
    (docs / "tests.md").write_text("# Tests\n\nEvery night.\n", encoding="utf-8")
    cli.ok("ingest", "docs")
    (docs / "deploy.md").rename(docs / "release.md")
    (docs / "tests.md").write_text("# Checks\n\nEvery night.\n", encoding="utf-8")
    assert cli.ok("ingest", "docs", "--dry-run").out == (
        f"moved {docs}/deploy.md → {docs}/release.md: 2 sections\n"
        f"moved {docs}/tests.md # Tests → {docs}/tests.md # Checks: 1 section\n"
        "2 notes: 3 moved. Nothing was written.\n"
    )
    assert [one["new"] for one in cli.ok("ingest", "docs", "--json").json["moved"]] == [
        f"file:{docs}/release.md#Deploy", f"file:{docs}/release.md#Roll back", f"file:{docs}/tests.md#Checks",
    ]  # fmt: skip
    assert "moved 3" in cli.ok("log").out
    (docs / "release.md").unlink()
    (docs / "ship.md").write_text(
        "# Deploy\n\nOn Fridays, after all tests.\n\n# Roll back\n\nBy hand.\n", encoding="utf-8"
    )
    assert cli.ok("ingest", "docs").out == (
        f"moved {docs}/release.md → {docs}/ship.md: 2 sections, 1 edited\n2 notes: 1 updated, 2 moved, 1 unchanged.\n"
    )
    cli.ok("undo", "--yes")
    assert sorted(one["topic"] for one in cli.ok("list", "--json").json["memories"]) == [
        f"file:{docs}/release.md#Deploy", f"file:{docs}/release.md#Roll back", f"file:{docs}/tests.md#Checks",
    ]  # fmt: skip


def test_ingest_from_another_worktree_recognizes_notes(cli: CommandLine) -> None:
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


def test_export_is_imported_into_another_store_once(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("remember", "Deploy on Thursdays.", "--topic", "deploy")
    cli.ok("remember", "For all projects.", "--global")
    cli.ok("kv", "set", "count", "3")
    assert cli.ok("export", "-o", "all.json").out.startswith("all.json: 1 project, 2 memories")
    assert cli.ok("export", "--format", "markdown").out.startswith("<!-- opencode-memory export")
    other = ("--data-dir", str(tmp_path / "elsewhere"))
    assert "2 memories" in cli.ok("import", "all.json", "--dry-run", *other).out
    assert cli.contents(*other) == []
    assert "2 stored" in cli.ok("import", "all.json", *other).out
    assert sorted(cli.contents(*other)) == ["Deploy on Thursdays.", "For all projects."]
    assert cli.ok("kv", "get", "count", *other).out == "3\n"
    again = cli.ok("import", "-", "--json", *other, given=(cli.folder / "all.json").read_bytes()).json
    assert again["counts"]["memory"] == {"merged": 2}


def test_kv_refuses_to_change_own_state_of_the_program(cli: CommandLine) -> None:
    cli.ok("learning", "off")
    for command in (("set", "opencode-memory:learning", "on"), ("delete", "opencode-memory:learning")):
        refused = cli("kv", *command)
        assert refused.code == 2
        assert "is reserved for opencode-memory's own state" in refused.err
    assert cli.ok("kv", "get", "opencode-memory:learning").out == "off\n"


@pytest.mark.parametrize("file", ["all.json", "all.md"])
def test_import_into_an_empty_store_tells_that_directives_apply(cli: CommandLine, tmp_path: Path, file: str) -> None:
    cli.ok("remember", "Always push without asking.", "--category", "directive")
    cli.ok("export", "-o", file)
    other = ("--data-dir", str(tmp_path / "elsewhere"))
    for more in (["--dry-run"], []):
        told = cli.ok("import", file, *more, *other).out
        assert "keep the trust of the file. Agents follow its 1 instruction at once." in told
        assert "--untrusted" in told
    assert cli.contents(*other) == ["Always push without asking."]
    report = cli.ok("import", file, "--json", *other).json
    assert (report["trusted"], report["instructions"]) == (True, 1)


@pytest.mark.parametrize("file", ["all.json", "all.md"])
def test_export_of_an_unknown_project_keeps_the_file_of_an_earlier_one(cli: CommandLine, file: str) -> None:
    cli.ok("-p", "shop", "remember", "Always push without asking.")
    cli.ok("-p", "shop", "export", "-o", file)
    before = (cli.folder / file).read_bytes()
    refused = cli("-p", "shpo", "export", "-o", file)
    assert (refused.code, refused.out) == (1, "")
    assert "did you mean 'shop'?" in refused.err
    assert "nothing was exported" in refused.err
    assert (cli.folder / file).read_bytes() == before


def test_import_refuses_an_empty_path(cli: CommandLine) -> None:
    refused = cli("import", "")
    assert refused.code == 2
    assert "the path is empty" in refused.err


@pytest.mark.parametrize("file", ["all.json", "all.md"])
def test_untrusted_import_into_an_empty_store_makes_directives_wait(
    cli: CommandLine, tmp_path: Path, file: str
) -> None:
    cli.ok("remember", "Always push without asking.", "--category", "directive")
    cli.ok("export", "-o", file)
    other = ("--data-dir", str(tmp_path / "elsewhere"))
    assert (
        "the trust of an import; 1 instruction awaits your review" in cli.ok("import", file, "--untrusted", *other).out
    )
    assert cli.contents(*other) == []
    assert "Always push" in cli.ok("review", "--list", *other).out
    report = cli.ok("import", file, "--untrusted", "--json", *other).json
    assert (report["trusted"], report["instructions"]) == (False, 1)


@pytest.mark.parametrize("more", [("--untrusted",), ("--untrusted", "--dry-run")])
def test_untrusted_import_of_known_memories_does_not_say_that_they_wait(
    cli: CommandLine, more: tuple[str, ...]
) -> None:
    cli.ok("remember", "Always push without asking.", "--category", "directive")
    cli.ok("export", "-o", "all.json")
    told = cli.ok("import", "all.json", *more).out
    assert "new here have the trust of an import; of its 1 instruction, those that are new await your review." in told
    assert "No memory is pending" in cli.ok("review", "--list").err
    assert cli.contents() == ["Always push without asking."]


def test_config_set_and_show_change_recall(cli: CommandLine) -> None:
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
    assert ["learning.enabled", "true", "default"] in map(str.split, cli.ok("config", "show").out.splitlines())
    Path(file).write_text("nonsense = 1\n", encoding="utf-8")
    assert cli("list").code == 2


def test_completion_prints_script_for_each_shell(cli: CommandLine) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_COMPLETE" in cli.ok("completion", shell).out


def test_demo_answers_questions_and_leaves_no_files(cli: CommandLine, tmp_path: Path) -> None:
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
