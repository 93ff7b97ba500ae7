"""`enrich`, against a forge on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.forges import client
from support.command_line import CommandLine
from support.forge_server import HOST, TOKEN, ForgeServer, Reply, github_issue, gitlab_item

ISSUE = "/api/v3/repos/acme/shop/issues/12"
NAME = f"{HOST}/acme/shop#12"


def test_issue_of_github_becomes_a_fact(github: CommandLine, forge: ForgeServer) -> None:
    forge.items[ISSUE] = github_issue()
    answer = github.ok("enrich", "#12", "--json").json
    assert answer["items"][0]["item"] == {
        "kind": "issue",
        "title": "Login fails on Safari",
        "state": "open",
        "labels": ["bug", "login"],
        "author": "octocat",
    }
    memory = github.ok("show", answer["items"][0]["memory"], "--json").json["memories"][0]
    text = f'Issue {NAME} is open: "Login fails on Safari" (labels: bug, login; author: @octocat)'
    assert memory["content"] == text
    assert memory["source"]["tool"] == "forge"
    assert (memory["trust"], memory["category"], memory["tags"]) == ("tool", "fact", ["forge"])
    assert NAME in memory["entities"]
    assert "Login fails" in github.ok("enrich", "#12").out
    assert forge.received[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("more", "kind", "state"),
    [
        ({"state": "closed", "state_reason": "completed"}, "issue", "closed"),
        ({"pull_request": {"merged_at": None}}, "pull request", "open"),
        ({"state": "closed", "pull_request": {"merged_at": "2026-01-01T00:00:00Z"}}, "pull request", "merged"),
        ({"state": "closed", "pull_request": {"merged_at": None}}, "pull request", "closed"),
        ({"user": None, "labels": ["old form"]}, "issue", "open"),
    ],
)
def test_forms_of_github(more: dict[str, Any], kind: str, state: str, github: CommandLine, forge: ForgeServer) -> None:
    forge.items[ISSUE] = github_issue(**more)
    item = github.ok("enrich", "#12", "--json").json["items"][0]["item"]
    assert (item["kind"], item["state"]) == (kind, state)


@pytest.mark.parametrize(
    ("reference", "path", "more", "words"),
    [
        ("#12", "projects/acme%2Fshop/issues/12", {}, "Issue 127.0.0.1/acme/shop#12 is open"),
        ("!12", "projects/acme%2Fshop/merge_requests/12", {"state": "merged"}, "shop!12 is merged"),
        (
            "!12",
            "projects/acme%2Fshop/merge_requests/12",
            {"state": "locked"},
            "Merge request 127.0.0.1/acme/shop!12 is open",
        ),
        ("&12", "groups/acme/epics/12", {"state": "closed"}, "Epic 127.0.0.1/acme&12 is closed"),
        ("acme/team/app#12", "projects/acme%2Fteam%2Fapp/issues/12", {}, "acme/team/app#12 is open"),
    ],
)
def test_forms_of_gitlab(
    reference: str, path: str, more: dict[str, Any], words: str, gitlab: CommandLine, forge: ForgeServer
) -> None:
    forge.items[f"/api/v4/{path}"] = gitlab_item(**more)
    answer = gitlab.ok("enrich", reference)
    assert words in answer.out
    assert "labels: bug, login; author: @root" in answer.out


def test_second_request_is_conditional_and_writes_nothing(github: CommandLine, forge: ForgeServer) -> None:
    forge.items[ISSUE] = github_issue()
    first = github.ok("enrich", "#12", "--json").json["items"][0]
    second = github.ok("enrich", "#12", "--json").json["items"][0]
    assert (first["outcome"], second["outcome"]) == ("fetched", "unchanged")
    assert second["memory"] == first["memory"]
    assert forge.received[1].headers["if-none-match"].startswith('W/"')
    assert len(github.ok("history", first["memory"], "--json").json["history"]) == 1


def test_changed_item_replaces_its_fact(github: CommandLine, forge: ForgeServer) -> None:
    forge.items[ISSUE] = github_issue()
    github.ok("enrich", "#12")
    forge.items[ISSUE] = github_issue(state="closed")
    github.ok("enrich", "#12")
    assert github.contents("--tag", "forge") == [
        f'Issue {NAME} is closed: "Login fails on Safari" (labels: bug, login; author: @octocat)'
    ]


def test_all_items_that_memories_name_are_fetched_once(github: CommandLine, forge: ForgeServer) -> None:
    github.remember("The login is broken, see #12 and #13")
    github.remember("The clock is wrong, see #14")
    for number in (12, 13, 14):
        forge.items[f"/api/v3/repos/acme/shop/issues/{number}"] = github_issue(number, "Refers to #99")
    assert len(github.ok("enrich", "--json").json["items"]) == 3
    # The title of a stranger does not choose what is requested next.
    assert len(forge.received) == 3
    assert github.ok("enrich", "--json").json["items"] == []
    assert len(forge.received) == 3
    assert len(github.contents("--tag", "forge")) == 3


def test_limit_and_dry_run(github: CommandLine, forge: ForgeServer) -> None:
    github.remember("The login is broken, see #12, #13 and #14")
    assert len(github.ok("enrich", "--limit", "2", "--dry-run", "--json").json["would_fetch"]) == 2
    assert github.ok("enrich", "#15", "--dry-run").out == f"{HOST}/acme/shop#15\n"
    assert forge.received == []
    github("enrich", "--limit", "2")
    assert len(forge.received) == 2


def test_nothing_is_sent_without_a_token(
    github: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GH_ENTERPRISE_TOKEN")
    answer = github("enrich", "#12")
    assert answer.code == 2
    assert f"there is no token for {HOST}" in answer.err
    assert "gh auth login" in answer.err
    assert f"there is no token for {HOST}" in github("enrich", "#12", "--dry-run").err
    github.remember("The login is broken, see #12")
    assert github.ok("enrich", "--json").json["without_token"] == [HOST]
    assert github.ok("enrich").err.startswith(f"There is no token for {HOST}: ")
    assert forge.received == []


def test_host_that_is_no_forge_of_the_user_is_not_asked(github: CommandLine, forge: ForgeServer) -> None:
    answer = github("enrich", "https://git.example.com/acme/shop/-/issues/12")
    assert answer.code == 2
    assert "neither a remote of a project nor in forge.hosts" in answer.err


@pytest.mark.parametrize("reference", ["PostgreSQL", "@ada", "src/app.py", "#0", "", "acme/shop@1a2b3c4"])
def test_other_entities_are_refused(reference: str, github: CommandLine, forge: ForgeServer) -> None:
    answer = github("enrich", reference)
    assert answer.code == 2
    assert "is no item of a forge" in answer.err
    assert forge.received == []


def test_number_in_a_renamed_project_is_refused_with_its_name(github: CommandLine) -> None:
    github.remember("The release waits for #12.")
    github.ok("projects", "rename", f"{HOST}/acme/shop", "shop")
    said = github("enrich", "#12", "-p", "shop").err
    assert "the name of this project, shop, is not that of a repository on a forge; name the item with its host" in said


def test_merge_request_of_github_is_refused(github: CommandLine, forge: ForgeServer) -> None:
    for options in ((), ("--dry-run",)):
        assert "has no item like" in github("enrich", "!12", *options).err
    assert forge.received == []


def test_missing_item_is_named(github: CommandLine) -> None:
    answer = github("enrich", "#12")
    assert answer.code == 1
    assert f"{NAME} does not exist, or the token may not read it" in answer.err
    assert github.contents("--tag", "forge") == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=401), "refused the token of GH_ENTERPRISE_TOKEN"),
        (Reply(status=403), "refused the token of GH_ENTERPRISE_TOKEN"),
        (Reply(status=403, headers={"X-RateLimit-Remaining": "0"}), "limits the number of requests for 60 s"),
        (Reply(status=429, headers={"Retry-After": "120"}), "limits the number of requests for 120 s"),
        (Reply(status=429, headers={"RateLimit-Remaining": "0", "RateLimit-Reset": "soon"}), "for 60 s"),
        (Reply(status=502, body=b"<html>"), "answered with status 502"),
        (Reply(body=b"{"), "not the API of github"),
        (Reply(body=b"[" * 100_000), "not the API of github"),
        (Reply(body=b'{"title": 7, "state": "open"}'), "not the API of github"),
        (Reply(body=b'{"title": "x", "state": "lost"}'), "not the API of github"),
        (Reply(body=b"\xff"), "not the API of github"),
        (Reply(body=b" " * 3_000_000), "sent more than 2048 KB"),
        (Reply(headers={"Content-Encoding": "gzip"}), "compressed"),
        (Reply(status=302), "redirects to another host"),
    ],
)
def test_useless_answer_changes_nothing(reply: Reply, words: str, github: CommandLine, forge: ForgeServer) -> None:
    forge.script = [reply]
    answer = github("enrich", "#12")
    assert answer.code == 2
    assert words in answer.err
    assert TOKEN not in answer.err + answer.out
    assert github.contents("--tag", "forge") == []


def test_dry_run_names_no_item_of_a_host_that_is_left_alone(github: CommandLine, forge: ForgeServer) -> None:
    forge.script = [Reply(status=429, headers={"Retry-After": "7200"})]
    github("enrich", "#12")
    plan = github.ok("enrich", "#13", "--dry-run", "--json").json
    assert plan["would_fetch"] == []
    assert "limits the number of requests" in plan["paused"][0]


def test_host_that_refused_a_token_is_asked_again_with_another(
    github: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.items[ISSUE] = github_issue()
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", "outdated")
    github("enrich", "#12")
    again = github("enrich", "#12").err
    assert ("is left alone" in again, "refused the token" in again) == (True, True)
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", TOKEN)
    assert "is open" in github.ok("enrich", "#12").out
    tokens = [request.headers["authorization"] for request in forge.received]
    assert tokens == ["Bearer outdated", f"Bearer {TOKEN}"]


def test_interrupted_run_keeps_what_was_fetched(
    github: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.remember("The login is broken, see #12, #13 and #14")
    for number in (12, 13, 14):
        forge.items[f"/api/v3/repos/acme/shop/issues/{number}"] = github_issue(number)
    ask = client.fetch

    def fetch(*arguments: Any, **more: Any) -> Any:
        if len(forge.received) == 2:
            raise KeyboardInterrupt
        return ask(*arguments, **more)

    monkeypatch.setattr("opencode_memory.forges.enrich.fetch", fetch)
    answer = github("enrich")
    assert answer.code == 130
    assert "What was fetched is stored." in answer.err
    assert len(forge.received) == 2
