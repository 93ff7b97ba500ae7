"""A forge on loopback, and a command line that knows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine
from support.forge_server import HOST, TOKEN, ForgeServer

VARIABLES = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_HOST"),
    *("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_HOST", "GITLAB_URI", "GL_HOST", "OAUTH_TOKEN"),
)


@pytest.fixture(autouse=True)
def _no_tokens_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    # Without this, `gh` and `glab` of the person would be asked.
    monkeypatch.setenv("PATH", "/nonexistent")


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    """A forge without items."""
    with ForgeServer() as server:
        yield server


@pytest.fixture
def github(cli: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line, with the forge as a GitHub and a token for it."""
    monkeypatch.setenv("OPENCODE_MEMORY_FORGE_HOSTS", f"github:{forge.url}")
    monkeypatch.setenv("GH_HOST", HOST)
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", TOKEN)
    monkeypatch.setenv("OPENCODE_MEMORY_PROJECT", f"{HOST}/acme/shop")
    return cli


@pytest.fixture
def gitlab(cli: CommandLine, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line, with the forge as a GitLab and a token for it."""
    monkeypatch.setenv("OPENCODE_MEMORY_FORGE_HOSTS", f"gitlab:{forge.url}")
    monkeypatch.setenv("GITLAB_HOST", HOST)
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    monkeypatch.setenv("OPENCODE_MEMORY_PROJECT", f"{HOST}/acme/shop")
    return cli
