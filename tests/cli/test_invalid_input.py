"""Exit codes and messages of commands for invalid input and for no results."""

from __future__ import annotations

import json

import pytest

from support.command_line import CommandLine


def test_no_results_exit_with_1(cli: CommandLine) -> None:
    for command in (("recall", "zebra"), ("kv", "get", "x")):
        assert cli(*command).code == 1
    assert cli("recall", "zebra", "--json").json == {"query": "zebra", "hits": []}
    missing = cli("show", "00000000-0000-7000-8000-000000000000")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith("error: ")


def test_hostile_name_in_an_error_neither_rewrites_the_screen_nor_begins_a_line(cli: CommandLine) -> None:
    name = "x\x1b]0;title\x07\nhint: run this\u202e"
    shown = cli("import", name).err
    assert shown.startswith("error: cannot read x\ufffd]0;title\ufffd\n  hint: run this\ufffd: ")
    assert shown.count("\nhint: ") == 1
    assert name in json.loads(cli("import", name, "--json").err)["error"]["message"]


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
        (("remember", "x", "--ttl", "9000y"), b"", "--ttl: '9000y' ends after the year 9999"),
        (("remember", "x", "--ttl", "999999y"), b"", "--ttl: '999999y' ends after the year 9999"),
        (("recall", "x", "--since", "2026-13-01"), b"", "not a date"),
        (("recall", "x", "--limit", "0"), b"", "limit"),
        (("recall", "x", "-C", "missing"), b"", "not a folder"),
        (("recall",), b"", "TEXT"),
        (("reccall", "x"), b"", "did you mean 'recall'"),
        (("kv", "gett", "x"), b"", "did you mean 'get'"),
        (("kv", "set", "", "x"), b"", "key"),
        (("kv", "set", "x", "-5"), b"", "write -- before"),
        (("kv", "set", "x", "y", "--ttl", "0"), b"", "--ttl: the lifetime must be more than 0"),
        (("kv", "set", "x", "y", "--ttl", "9000y"), b"", "--ttl: '9000y' ends after the year 9999"),
        (("import", "missing.json"), b"", "cannot read"),
        (("import", "-"), b"nothing known", "no format"),
        (("ingest", "missing"), b"", "does not exist"),
        (("config", "set", "recall.limt", "3"), b"", "recall.limt"),
        (("cleanup",), b"", "--all"),
        (("cleanup", "--older-than", "999999"), b"", "--older-than: '999999' is before the year 1"),
        (("cleanup", "--older-than", "999999y"), b"", "--older-than: '999999y' is before the year 1"),
        (("edit", "12345678"), b"", "nothing to change"),
        (("backup", "restore", "missing", "--yes"), b"", "missing"),
        (("completion", "tcsh"), b"", "tcsh"),
        (("--nonsense",), b"", "nonsense"),
    ],
)
def test_invalid_input_exits_with_2_and_writes_nothing(
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
def test_recall_accepts_queries_with_operators(cli: CommandLine, query: str) -> None:
    cli.ok("remember", "foo and fields")
    assert cli("recall", query).code in {0, 1}


def test_error_with_json_option_is_json(cli: CommandLine) -> None:
    answer = cli("remember", "x", "-c", "desicion", "--json")
    assert json.loads(answer.err)["error"]["hint"]
    assert answer.out == ""


def test_empty_path_of_an_unset_variable_is_refused(cli: CommandLine) -> None:
    (cli.folder / "notes.md").write_text("# Cranes\n\nThe crane has two drivers.\n")
    for command in (("ingest", ""), ("ingest", "opencode", "--db", ""), ("backup", "create", ""), ("export", "-o", "")):
        refused = cli(*command)
        assert (refused.code, "the path is empty" in refused.err) == (2, True)
    assert cli.contents() == []
