"""Fixtures of the tests that go through a whole surface."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """The command line, in a project folder and a home of its own."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("NO_COLOR", "OPENCODE_MEMORY_PROJECT", "OPENCODE_MEMORY_DATA_DIR", "OPENCODE_MEMORY_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return CommandLine(monkeypatch, capsys, folder)
