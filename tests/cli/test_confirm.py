"""Confirmation of destructive commands."""

from __future__ import annotations

import io
import sys

import pytest

from opencode_memory import InvalidInputError
from opencode_memory.cli.parameters import confirm


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "expected"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False)])
def test_confirm_accepts_only_yes(monkeypatch: pytest.MonkeyPatch, answer: str, expected: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert confirm("Delete 3 memories", yes=False) is expected


def test_question_does_not_rewrite_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert not confirm("Merge a\x1b[2K\nb into c", yes=False)
    assert capsys.readouterr().err.startswith("Merge a\ufffd[2K b into c?")


def test_confirm_with_yes_option_asks_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    assert confirm("Delete 3 memories", yes=True)


def test_confirm_without_terminal_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(InvalidInputError, match="cannot ask for confirmation") as caught:
        confirm("Delete 3 memories", yes=False)
    assert caught.value.hint == "run the command again with --yes"
