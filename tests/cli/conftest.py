"""Fixtures of the command-line tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.services import free_port


@pytest.fixture
def opencode_cli(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line without OpenCode's variables, and with a free port for the server."""
    for name in ("OPENCODE_CONFIG_DIR", "OPENCODE_DISABLE_PROJECT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCODE_MEMORY_PORT", str(free_port()))
    return cli


@pytest.fixture
def repository(cli: CommandLine) -> Path:
    """The folder of the command line, as a repository."""
    git = cli.folder / ".git"
    (git / "refs").mkdir(parents=True)
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return cli.folder
