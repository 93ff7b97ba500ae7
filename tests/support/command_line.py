"""Runs commands in this process and returns their output and exit code."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.cli import main


@dataclass(frozen=True)
class Answer:
    """Output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Terminal(io.TextIOWrapper):
    """Standard input of a user who can be asked."""

    def isatty(self) -> bool:
        return True


class CommandLine:
    """Runs commands in this process, in a project folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.folder = folder

    def __call__(self, *arguments: str, given: str | bytes = b"", at_terminal: bool = False) -> Answer:
        data = given.encode() if isinstance(given, str) else given
        stream = _Terminal if at_terminal else io.TextIOWrapper
        self._monkeypatch.setattr(sys, "stdin", stream(io.BytesIO(data), encoding="utf-8"))
        code = main(arguments)
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(code, captured.out, captured.err)

    def ok(self, *arguments: str, given: str | bytes = b"") -> Answer:
        answer = self(*arguments, given=given)
        assert answer.code == 0, answer
        return answer

    def remember(self, *arguments: str) -> str:
        """Store a memory and return its id."""
        id_of_memory: str = self.ok("remember", *arguments, "--json").json["id"]
        return id_of_memory

    def contents(self, *arguments: str) -> list[str]:
        """Return the contents of the memories that ``list`` prints."""
        answer = self("list", *arguments, "--json")
        return [memory["content"] for memory in answer.json["memories"]]
