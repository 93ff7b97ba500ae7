"""``log`` and ``history`` say which fields a change set, not only how it changed the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.cli.changed_fields import describe_changed_fields
from support.command_line import CommandLine
from support.stores import open_store


def last_lines(cli: CommandLine, id_of_memory: str) -> list[str]:
    """Return the lines of the newest change in the history, without its heading."""
    lines = cli.ok("history", id_of_memory).out.splitlines()
    start = max(number for number, line in enumerate(lines) if not line.startswith("    "))
    return [line.strip() for line in lines[start + 1 :]]


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (("-c", "decision"), "category fact → decision"),
        (("--topic", "deploy"), "topic none → deploy"),
        (("-t", "ci", "-t", "ops"), "tags +ci +ops -old"),
        (("-t", "none"), "tags -old"),
        (("-e", "PostgreSQL"), "entities +PostgreSQL"),
        (("--expires", "2041-01-02T03:04"), "expires none → 2041-01-02 03:04"),
        (("-c", "decision", "-t", "ci"), "category fact → decision; tags +ci -old"),
    ],
)
def test_edit_of_fields_is_described(cli: CommandLine, arguments: tuple[str, ...], fields: str) -> None:
    memory = cli.remember("Deploy on Thursdays.", "-t", "old")
    cli.ok("edit", memory, *arguments)
    assert last_lines(cli, memory) == [fields]
    newest = cli.ok("log").out.splitlines()[0]
    assert f"edited 1  {fields}"[:60] in newest


def test_lines_that_begin_with_dashes_are_shown(cli: CommandLine) -> None:
    memory = cli.remember("Options of the release:\n--force is forbidden")
    cli.ok("edit", memory, "Options of the release:\n++force is allowed")
    assert last_lines(cli, memory) == ["---force is forbidden", "+++force is allowed"]


def test_edit_of_text_and_fields_shows_both(cli: CommandLine) -> None:
    memory = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", memory, "Deploy on Fridays.", "-t", "ci")
    assert last_lines(cli, memory) == ["-Deploy on Thursdays.", "+Deploy on Fridays.", "tags +ci"]


def test_edit_of_the_text_alone_names_no_field(cli: CommandLine) -> None:
    memory = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", memory, "Deploy on Fridays.")
    assert last_lines(cli, memory) == ["-Deploy on Thursdays.", "+Deploy on Fridays."]


@pytest.mark.parametrize("command", ["pin", "archive"])
def test_field_that_the_kind_of_change_names_is_not_repeated(cli: CommandLine, command: str) -> None:
    memory = cli.remember("Deploy on Thursdays.")
    cli.ok(command, memory)
    assert last_lines(cli, memory) == []


def test_reminder_and_project_are_described(cli: CommandLine) -> None:
    memory = cli.remember("Deploy on Thursdays.")
    cli.ok("remind", "set", memory, "2041-01-02T03:04", "--every", "7d")
    assert last_lines(cli, memory) == ["reminder none → 2041-01-02 03:04, every 7 d"]
    cli.remember("Orders are stored in PostgreSQL.", "-p", "shop")
    cli.ok("projects", "merge", str(cli.folder), "shop", "--yes")
    [moved] = last_lines(cli, memory)
    assert moved.startswith("project ")
    assert moved.endswith(" → shop")


def test_update_of_a_topic_says_which_fields_it_changed(cli: CommandLine) -> None:
    cli.ok("remember", "--topic", "deploy", "-t", "ci", "-c", "decision", "Deploy on Thursdays.")
    updated = cli.ok("remember", "--topic", "deploy", "-t", "cd", "Deploy on Fridays.").out.splitlines()
    assert updated[0].startswith("Updated the memory of this topic.")
    assert updated[1].startswith("Other fields changed too: tags +cd -ci. ")
    again = cli.ok("remember", "--topic", "deploy", "Deploy on Mondays.").out
    assert "Other fields" not in again


def test_tag_with_an_escape_sequence_is_printed_without_it(cli: CommandLine) -> None:
    memory = cli.remember("Deploy on Thursdays.")
    cli.ok("edit", memory, "-t", "\x1b[31mred\nline")
    assert last_lines(cli, memory) == ["tags +\N{REPLACEMENT CHARACTER}[31mred line"]


def test_marks_of_learning_are_not_described(tmp_path: Path) -> None:
    with open_store(tmp_path, project="shop") as store:
        marks = {"rule": "blocker", "evidence": "we wait for the key", "seen_as": "key:1", "rules": 2}
        memory = store.remember("We wait for the key.", topic="key", metadata=marks)
        changed = {"rule": "a blocker is over", "evidence": "the key is here", "rules": 3, "ticket": "7"}
        store.remember("We wait for the key.", topic="key", tags=["resolved"], metadata=changed)
        newest = store.history(memory.id)[-1]
    assert describe_changed_fields(newest) == "tags +resolved; metadata ticket"
