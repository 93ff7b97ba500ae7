"""`resolve`: blockers are resolved and reopened."""

from __future__ import annotations

from support.command_line import CommandLine


def test_blocker_is_resolved_and_reopened(cli: CommandLine) -> None:
    blocker = cli.remember("-c", "blocker", "The release waits for the certificate")
    memory = cli.ok("resolve", blocker, "it", "has", "arrived", "--json").json["memory"]
    assert memory["content"] == "The release waits for the certificate\nResolved: it has arrived"
    assert memory["tags"] == ["resolved"]
    assert cli.ok("resolve", blocker).out.startswith("Resolved. The release waits")
    memory = cli.ok("resolve", blocker, "--reopen", "--json").json["memory"]
    assert (memory["content"], memory["tags"]) == ("The release waits for the certificate", [])
    assert "is not resolved" in cli("resolve", blocker, "--reopen").err


def test_resolved_blocker_is_not_due_for_review(cli: CommandLine) -> None:
    blocker = cli.remember("-c", "blocker", "The release waits for the certificate")
    cli.ok("remind", "set", blocker, "1d", "--review")
    memory = cli.ok("resolve", blocker, "--json").json["memory"]
    assert memory["review_after"] is None
    cli.ok("undo", "--yes")
    assert cli.ok("show", blocker, "--json").json["memories"][0]["tags"] == []


def test_other_memories_are_refused(cli: CommandLine) -> None:
    fact = cli.remember("The release is on Thursday")
    answer = cli("resolve", fact)
    assert answer.code == 2
    assert "is a fact, not a blocker" in answer.err
    assert "--category blocker" in answer.err
    assert "HOW is not valid with --reopen" in cli("resolve", fact, "why", "--reopen").err
    assert cli("resolve", "abcdef12").code == 1
