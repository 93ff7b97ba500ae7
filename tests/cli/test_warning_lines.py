"""Warnings of the package, as a command shows them that has no log."""

from __future__ import annotations

import logging

import pytest

from support.command_line import CommandLine


def test_name_in_a_warning_does_not_rewrite_the_terminal(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    last = logging.lastResort
    assert last is not None
    monkeypatch.setattr(last, "formatter", None)
    cli.ok("list")
    record = logging.LogRecord("package", logging.WARNING, "a.py", 1, "%s is skipped", ("a\x1b[2Jb.md",), None)
    assert last.format(record) == "warning: a\ufffd[2Jb.md is skipped"
