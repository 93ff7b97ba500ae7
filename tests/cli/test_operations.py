"""`log`, `undo` and `redo`: they concern what the user did in this project, unless more is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.learning.review import REPLACES
from support.command_line import CommandLine


def learn(cli: CommandLine, text: str) -> str:
    """Store something as learning does, in the project of the folder."""
    with opencode_memory.open(actor="extracted", background=False) as store:
        project = store.projects.list()[0].name if store.projects.list() else None
        return store.remember(text, project=project).id


def test_undo_leaves_what_was_learned_meanwhile(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    learn(cli, "The tests need Redis.")
    said = cli.ok("undo").out
    assert "We deploy on Thursdays." in said
    assert cli.contents() == ["The tests need Redis."]
    assert cli("undo").code == 1
    assert "--all" in cli("undo").err
    cli.ok("undo", "--all")
    assert cli.contents() == []


def test_log_and_undo_leave_what_the_program_did_by_itself(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    learned = [learn(cli, "One."), learn(cli, "Two.")]
    with opencode_memory.open(background=False) as store:
        upkept = store.in_one_operation()
        for old in learned:
            upkept.operations.archive_in_upkeep([old], f"duplicate of {old}")
    cli.ok("remember", "We review on Fridays.")
    cli.ok("undo")
    assert "We deploy on Thursdays." in cli.ok("undo", "--dry-run").out
    assert "put away" not in cli.ok("log").out
    [line] = [line for line in cli.ok("log", "--all").out.splitlines() if "put away" in line]
    assert "program  put away by age or as a duplicate 2 " in line


def test_undo_of_all_writers_leaves_what_the_program_did_by_itself(cli: CommandLine) -> None:
    learned = learn(cli, "The tests need Redis.")
    cli.ok("remember", "We deploy on Thursdays.")
    with opencode_memory.open(background=False) as store:
        upkept = store.in_one_operation()
        upkept.operations.archive_in_upkeep([learned], "older than 180 days")
        [upkeep] = store.operations.list(limit=1)
    assert "We deploy on Thursdays." in cli.ok("undo", "--all").out
    # The memory that it takes back includes what the program did to that memory.
    assert "put away by age" not in cli.ok("undo", "--all", "--dry-run").out
    cli.ok("undo", "--operation", str(upkeep.operation))
    assert cli.contents() == ["The tests need Redis."]


def test_undo_leaves_other_projects(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    cli.ok("remember", "Of the shop.")
    cli.ok("-C", str(other), "remember", "Of the other.")
    cli.ok("undo")
    assert cli.contents() == []
    assert cli.contents("-C", str(other)) == ["Of the other."]


def test_folder_without_a_project_has_no_changes_of_others(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    other = cli.folder / "other"
    other.mkdir()
    for command in ("log", "undo"):
        assert "changed nothing" in cli(command, "-C", str(other)).err
    assert cli.contents() == ["We deploy on Thursdays."]
    cli.ok("undo")
    assert "undone nothing" in cli("redo", "-C", str(other)).err
    cli.ok("remember", "-g", "I prefer tabs.", "-C", str(other))
    assert "I prefer tabs." in cli.ok("undo", "-C", str(other)).out


def test_redo_brings_back_the_last_undone_change(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    cli.ok("remember", "We review on Fridays.")
    cli.ok("undo")
    cli.ok("undo")
    assert cli.contents() == []
    assert "We deploy on Thursdays." in cli.ok("redo").out
    cli.ok("redo")
    assert sorted(cli.contents()) == ["We deploy on Thursdays.", "We review on Fridays."]
    assert "undone nothing" in cli("redo").err


def test_redo_names_each_memory_once(cli: CommandLine, tmp_path: Path) -> None:
    note = tmp_path / "deploy.md"
    note.write_text(
        "# Deploy\n\nDeploys go through the harbor script, which tags the image and waits for its health.\n"
    )
    cli.ok("ingest", str(note))
    renamed = note.rename(tmp_path / "release.md")
    renamed.write_text(renamed.read_text().replace("script", "job"))
    cli.ok("ingest", str(tmp_path))
    assert cli.ok("undo").out.count("Undone: ") == 2
    assert cli.ok("redo").out.count("Redone: ") == 1


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_all_finds_nothing_in_an_empty_store(cli: CommandLine, command: str) -> None:
    said = cli(command, "--all").err
    assert "this store has no" in said
    assert "--all" not in said


def test_log_lists_operations_with_who_what_and_how_many(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    learn(cli, "The tests need Redis.")
    said = cli.ok("log").out
    assert "We deploy on Thursdays." in said
    assert "you" in said
    assert "Redis" not in said
    everything = cli.ok("log", "--all", "--json").json["operations"]
    assert [(one["actor"], one["kinds"]) for one in everything] == [
        ("extracted", [["create", 1]]),
        ("user", [["create", 1]]),
    ]
    cli.ok("undo")
    assert "(undone)" in cli.ok("log").out


def test_log_shows_the_texts_of_an_import_and_undo_takes_it_back(cli: CommandLine, tmp_path: Path) -> None:
    id_ = cli.ok("remember", "We deploy on Thursdays.", "--json").json["id"]
    cli.ok("edit", id_, "We deploy on Fridays.")
    cli.ok("export", "-o", "all.json")
    other = ("--data-dir", str(tmp_path / "elsewhere"))
    cli.ok("import", "all.json", *other)
    assert "We deploy on Fridays." in cli.ok("log", *other).out
    assert "We deploy on Fridays." in cli.ok("undo", *other).out
    assert cli.contents(*other) == []


def test_undo_of_many_changes_asks(cli: CommandLine) -> None:
    with opencode_memory.open(background=False) as store:
        store.remember_many([{"content": f"note {n}"} for n in range(11)])
    assert cli("undo").code == 2
    assert len(cli.contents("-n", "20")) == 11
    dry = cli.ok("undo", "--dry-run").out
    assert "… and 1 more" in dry
    assert len(cli.contents("-n", "20")) == 11
    cli.ok("undo", "--yes")
    assert cli.contents() == []


def test_operation_is_chosen_by_its_number(cli: CommandLine) -> None:
    cli.ok("remember", "one")
    cli.ok("remember", "two")
    newest, oldest = (one["operation"] for one in cli.ok("log", "--json").json["operations"])
    cli.ok("undo", "--operation", str(oldest))
    assert cli.contents() == ["two"]
    assert f"operation {oldest}" in cli("undo", "--operation", str(oldest)).err
    assert f"operation {newest}" in cli("redo", "--operation", str(newest)).err
    cli.ok("redo", "--operation", str(oldest))
    assert sorted(cli.contents()) == ["one", "two"]


def test_undo_refuses_contradicting_options(cli: CommandLine) -> None:
    assert cli("undo", "abcdef12", "--all").code == 2
    assert cli("undo", "abcdef12", "--dry-run").code == 1


def test_dry_run_of_undo_with_an_id_shows_the_change_and_makes_none(cli: CommandLine) -> None:
    id = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", id, "-t", "ci")
    cli.ok("remember", "another")
    dry = cli.ok("undo", id, "--dry-run").out.splitlines()
    assert dry[0] == "Would be undone:"
    assert dry[1].endswith("edit, now by you: tags +ci · Deploy on Thursdays.")
    [change] = cli.ok("undo", id, "--dry-run", "--json").json["changes"]
    assert (change["kind"], change["undone"], change["after"]["tags"]) == ("edit", False, ["ci"])
    assert cli.ok("show", id, "--json").json["memories"][0]["tags"] == ["ci"]
    assert [one["undone"] for one in cli.ok("log", "--json").json["operations"]] == [False, False, False]
    cli.ok("undo", id)
    assert cli.ok("show", id, "--json").json["memories"][0]["tags"] == []


def test_dry_run_of_undo_with_an_id_names_the_statement_that_comes_back(cli: CommandLine) -> None:
    cli.ok("remember", "The staging port is 8081.")
    id = cli.remember("The staging port is 9090.")
    kinds = [change["kind"] for change in cli.ok("undo", id, "--dry-run", "--json").json["changes"]]
    assert sorted(kinds) == ["create", "supersede"]
    assert cli.contents() == ["The staging port is 9090."]


def test_rejection_of_a_learned_statement_follows_undo_and_redo(cli: CommandLine) -> None:
    id = learn(cli, "Always run the linter before a commit.")
    cli.ok("delete", id)
    cli.ok("undo")
    assert cli.contents() == ["Always run the linter before a commit."]
    cli.ok("redo")
    assert cli.contents() == []


def test_undo_and_redo_take_all_of_an_accepted_replacement(cli: CommandLine) -> None:
    cli.ok("remember", "Use tox.", "--category", "directive")
    with opencode_memory.open(actor="agent", background=False) as store:
        [old] = store.list(project="*")
        agent = {"category": "directive", "trust": "agent", "status": "candidate", "project": old.project}
        new = store.remember("Use nox.", metadata={REPLACES: old.id}, **agent).id
    cli.ok("review", "--accept", new)
    assert cli.contents() == ["Use nox."]
    cli.ok("undo")
    assert cli.contents() == ["Use tox."]
    cli.ok("redo")
    assert cli.contents() == ["Use nox."]


def test_log_of_an_ingest_names_no_fingerprint(cli: CommandLine) -> None:
    for text in ("Ten jobs.", "Twenty jobs."):
        (cli.folder / "notes.md").write_text(text)
        cli.ok("ingest", "notes.md")
    newest = cli.ok("log").out.splitlines()[0]
    assert "Twenty jobs." in newest
    assert "ingest" not in newest


def test_large_operation_is_printed_in_part(cli: CommandLine) -> None:
    (cli.folder / "notes.md").write_text("".join(f"# Section {number}\n\nText {number}.\n\n" for number in range(40)))
    cli.ok("ingest", "notes.md")
    for command in ("undo", "redo"):
        lines = cli.ok(command, "--yes").out.splitlines()
        assert lines[-1] == "… and 30 more"
        assert len(lines) < 30


def accept_replacement(cli: CommandLine) -> tuple[str, str]:
    """Accept a proposed text that replaces a memory, and return both ids, the replaced one first."""
    old = cli.remember("The port of the shop is 5128.")
    with opencode_memory.open(background=False) as store:
        project = store.get(old).project
        new = store.remember(
            "Take the walrus for a walk.", project=project, status="candidate", metadata={REPLACES: old}
        )
    cli.ok("review", "--accept", new.id)
    return old, new.id


@pytest.mark.parametrize("which", [0, 1])
def test_undo_of_one_memory_names_the_rest_of_its_operation(cli: CommandLine, which: int) -> None:
    ids = accept_replacement(cli)
    number = cli.ok("log", "--json", "-n", "1").json["operations"][0]["operation"]
    command = f"`opencode-memory undo --operation {number}` takes back all of it."
    for arguments in (("--dry-run",), ()):
        said = cli.ok("undo", ids[which], *arguments).out
        assert f" of operation {number} stay" in said
        assert command in said
    cli.ok("undo", "--operation", str(number))
    assert cli.contents() == ["The port of the shop is 5128."]


def test_undo_of_one_memory_says_nothing_of_an_operation_that_it_takes_back_whole(cli: CommandLine) -> None:
    id_ = cli.remember("The port of the shop is 5128.")
    assert "operation" not in cli.ok("undo", id_, "--dry-run").out
    done = cli.ok("undo", id_)
    assert "operation" not in done.out


def test_undo_of_one_memory_gives_the_rest_as_data(cli: CommandLine) -> None:
    ids = [cli.remember(f"Walrus {number} sleeps.") for number in range(3)]
    cli.ok("archive", *ids)
    number = cli.ok("log", "--json", "-n", "1").json["operations"][0]["operation"]
    for left in (2, 1):
        [rest] = cli.ok("undo", ids[left], "--json").json["rest"]
        assert rest == {"operation": number, "changes": left}
    assert cli.ok("undo", ids[0], "--json").json["rest"] == []
