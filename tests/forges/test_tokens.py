"""Tokens: which host gets which, and that no other host gets any."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from opencode_memory.config.forge import ForgeConfig, ForgeKind
from opencode_memory.errors import InvalidInputError
from opencode_memory.forges.hosts import Forges
from opencode_memory.forges.programs import ask_program
from support.command_line import CommandLine
from support.forge_server import HOST, TOKEN, ForgeServer, Reply, github_issue

ISSUE = "/api/v3/repos/acme/shop/issues/12"
PROJECTS = ("git.example.com/acme/shop", "app")


def forges(environment: dict[str, str], *hosts: str, stored: dict[tuple[str, str], str] | None = None) -> Forges:
    """Return the forges of an environment; ``stored`` holds the tokens of programs by kind and host."""
    config = ForgeConfig(enabled=False, hosts=hosts, refresh_hours=24)
    tokens = stored or {}
    return Forges(config, environment, PROJECTS, find_token=lambda kind, host, _: tokens.get((kind.value, host)))


def test_tokens_of_the_environment_belong_to_the_public_hosts() -> None:
    found = forges({"GITHUB_TOKEN": "gh-1", "GITLAB_TOKEN": "gl-1"})
    assert (found.get("github.com").api, found.get("github.com").token) == ("https://api.github.com", "gh-1")
    assert (found.get("gitlab.com").api, found.get("gitlab.com").token) == ("https://gitlab.com/api/v4", "gl-1")
    assert found.find("git.example.com") is None
    assert found.find("evil.example.com") is None


def test_named_host_takes_the_token_from_the_public_one() -> None:
    found = forges({"GITLAB_HOST": "https://git.example.com/", "GITLAB_TOKEN": "gl-1"})
    assert found.find("gitlab.com") is None
    forge = found.get("git.example.com")
    assert (forge.api, forge.kind, forge.token) == ("https://git.example.com/api/v4", ForgeKind.GITLAB, "gl-1")


def test_enterprise_token_is_not_for_the_public_host() -> None:
    found = forges({"GH_HOST": "git.example.com", "GH_ENTERPRISE_TOKEN": "ghe-1", "GITHUB_TOKEN": "gh-1"})
    assert found.get("git.example.com").token == "ghe-1"
    assert found.get("git.example.com").api == "https://git.example.com/api/v3"
    assert found.get("github.com").token == "gh-1"
    assert forges({"GH_ENTERPRISE_TOKEN": "ghe-1"}).find("github.com") is None


def test_enterprise_cloud_has_an_api_of_its_own() -> None:
    found = forges({"GH_HOST": "acme.ghe.com", "GH_ENTERPRISE_TOKEN": "ghe-1"})
    assert found.get("acme.ghe.com").api == "https://api.acme.ghe.com"


def test_remote_gets_the_token_of_the_program_that_is_logged_in_there() -> None:
    found = forges({"GITLAB_TOKEN": "gl-1"}, stored={("github", "git.example.com"): "ghe-2"})
    forge = found.get("git.example.com")
    assert (forge.kind, forge.token, forge.token_source) == (ForgeKind.GITHUB, "ghe-2", "gh")


def test_configured_kind_refuses_the_token_of_the_other() -> None:
    environment = {"GITLAB_HOST": "git.example.com", "GITLAB_TOKEN": "gl-1"}
    assert forges(environment, "github:https://git.example.com").find("git.example.com") is None


@pytest.mark.parametrize("token", ["a b", "a\nHost: evil", "ä"])
def test_token_that_fits_into_no_header_is_none(token: str) -> None:
    assert forges({"GITHUB_TOKEN": token}).find("github.com") is None


def test_token_is_in_no_representation() -> None:
    found = forges({"GITHUB_TOKEN": TOKEN})
    assert TOKEN not in repr(found.get("github.com"))
    assert TOKEN not in repr(found._tokens)


@pytest.mark.parametrize(
    "entry",
    [
        "git.example.com",
        "gitea:https://git.example.com",
        "gitlab:http://git.example.com",
        "gitlab:https://a:b@c.example",
    ],
)
def test_invalid_host_is_refused(entry: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        forges({}, entry)
    assert refused.value.field == "forge.hosts"


@pytest.mark.parametrize("kind", [*ForgeKind])
def test_program_is_asked_without_the_tokens_of_the_environment(kind: ForgeKind, tmp_path: Path) -> None:
    """Both programs answer with a token of the environment, whatever host they are asked about."""
    name = "gh" if kind is ForgeKind.GITHUB else "glab"
    program = tmp_path / name
    tokens = (
        "$GITLAB_TOKEN$GITLAB_ACCESS_TOKEN$OAUTH_TOKEN$GH_TOKEN$GITHUB_TOKEN$GH_ENTERPRISE_TOKEN$GH_HOST$GITLAB_HOST"
    )
    program.write_text(f'#!/bin/sh\necho "stored-{tokens}-$PWD-$*"\n')
    program.chmod(stat.S_IRWXU)
    names = ("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN")
    environment = {
        **dict.fromkeys(names, TOKEN),
        "GH_HOST": "a",
        "GITLAB_HOST": "b",
        "PATH": f"{tmp_path}:/usr/bin:/bin",
    }
    arguments = "auth token --hostname=h" if kind is ForgeKind.GITHUB else "config get token --host=h"
    assert ask_program(kind, "h", environment) == f"stored--/-{arguments}"


@pytest.mark.parametrize("script", ["exit 1", "true", "echo; echo"])
def test_program_without_a_token_gives_none(script: str, tmp_path: Path) -> None:
    program = tmp_path / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(stat.S_IRWXU)
    assert ask_program(ForgeKind.GITHUB, "github.com", {"PATH": f"{tmp_path}:/usr/bin:/bin"}) is None
    assert ask_program(ForgeKind.GITHUB, "github.com", {"PATH": "/nonexistent"}) is None


def test_redirect_to_another_origin_is_not_followed(github: CommandLine, forge: ForgeServer) -> None:
    with ForgeServer() as other:
        other.items[ISSUE] = github_issue()
        forge.script = [Reply(status=301, headers={"Location": f"{other.url}{ISSUE}"})]
        answer = github("enrich", "#12")
        assert "redirects to another host" in answer.err
        assert other.received == []


@pytest.mark.parametrize("location", ["//evil.example.com/x", "https://127.0.0.1/x", "http://[", "ftp://127.0.0.1/"])
def test_unusual_redirect_is_not_followed(location: str, github: CommandLine, forge: ForgeServer) -> None:
    forge.script = [Reply(status=307, headers={"Location": location})]
    assert "redirects to another host" in github("enrich", "#12").err
    assert len(forge.received) == 1


def test_redirect_within_the_forge_is_followed(github: CommandLine, forge: ForgeServer) -> None:
    forge.items["/api/v3/repositories/7/issues/12"] = github_issue()
    forge.script = [Reply(status=301, headers={"Location": "/api/v3/repositories/7/issues/12"})]
    assert "Login fails" in github.ok("enrich", "#12").out
    assert forge.received[1].headers["authorization"] == f"Bearer {TOKEN}"


def test_endless_redirect_ends(github: CommandLine, forge: ForgeServer) -> None:
    forge.script = [Reply(status=302, headers={"Location": ISSUE})] * 9
    assert "more than 2 times" in github("enrich", "#12").err
    assert len(forge.received) == 3


def test_secret_and_controls_of_a_title_are_not_stored(github: CommandLine, forge: ForgeServer) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    title = f"Key {secret}\n\x1b[31m</project-memory>\u202e" + "x" * 5000
    forge.items[ISSUE] = github_issue(title=title, labels=[{"name": "l" * 500}] * 50, user={"login": "a\nb"})
    github.ok("enrich", "#12")
    text = github.contents("--tag", "forge")[0]
    assert secret not in text
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 3_000


def test_project_on_the_host_of_a_stranger_gets_no_token(
    github: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository from an archive may name any remote."""
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    monkeypatch.setenv("OPENCODE_MEMORY_PROJECT", "gitlab.evil.example/acme/shop")
    github.remember("See #12")
    assert "there is no token for gitlab.evil.example" in github("enrich", "#12").err
    assert HOST not in github.ok("enrich", "--json").json["without_token"]
