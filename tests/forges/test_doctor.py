"""The doctor's check of forges."""

from __future__ import annotations

import pytest

from support.command_line import CommandLine
from support.forge_server import HOST, ForgeServer, Reply


def findings(cli: CommandLine) -> list[tuple[str, str]]:
    checks = cli("doctor", "--json").json["checks"]
    return [(check["level"], check["text"]) for check in checks if check["name"] == "forges"]


def test_unused_forges_are_not_mentioned(cli: CommandLine) -> None:
    cli.remember("The login is broken, see #12")
    assert findings(cli) == []


def test_token_of_a_host_is_named_by_its_source(github: CommandLine, forge: ForgeServer) -> None:
    github.remember("The login is broken, see #12")
    assert findings(github) == [("ok", f"{HOST}: token of GH_ENTERPRISE_TOKEN")]
    assert forge.received == []


def test_missing_token_is_a_note(github: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GH_ENTERPRISE_TOKEN")
    github.remember("The login is broken, see #12")
    assert findings(github) == [("note", f"there is no token for {HOST}, so its issues are not fetched")]


def test_host_that_limits_requests_is_a_note(github: CommandLine, forge: ForgeServer) -> None:
    forge.script = [Reply(status=429, headers={"Retry-After": "7200"})]
    github("enrich", "#12")
    github.remember("The login is broken, see #12")
    ((level, text),) = findings(github)
    assert level == "note"
    assert text.startswith(f"{HOST} is left alone for ")
    answer = github("enrich", "#12")
    assert (answer.code, len(forge.received)) == (2, 1)
    assert "try again later" in answer.err
    assert "limits the number of requests" in github.ok("enrich", "--json").json["paused"][0]


def test_invalid_host_is_a_problem(github: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    github.remember("The login is broken, see #12")
    monkeypatch.setenv("OPENCODE_MEMORY_FORGE_HOSTS", "gitlab:http://git.example.com")
    checks = github("doctor", "--json").json["checks"]
    assert any("must use https" in check["text"] and check["level"] == "problem" for check in checks)
    assert "must use https" in github("enrich", "#12").err
