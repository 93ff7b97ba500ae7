"""The question before something is destroyed."""

from __future__ import annotations

import io
import sys

import pytest

from opencode_memory import InvalidInputError
from opencode_memory.cli.parameters import confirm


class Person(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "expected"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False)])
def test_only_yes_is_yes(monkeypatch: pytest.MonkeyPatch, answer: str, expected: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Person(answer))
    assert confirm("Delete 3 memories", yes=False) is expected


def test_nobody_is_asked_who_said_yes_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Person(""))
    assert confirm("Delete 3 memories", yes=True)


def test_without_anybody_to_ask_nothing_is_destroyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(InvalidInputError, match="cannot ask for confirmation") as caught:
        confirm("Delete 3 memories", yes=False)
    assert caught.value.hint == "run the command again with --yes"
