"""Progress bars on a terminal, and their absence elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from opencode_memory.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def set_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # This cannot be a fixture, because pytest replaces the stream between a fixture and its test.
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_bar_shows_finished_and_total(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = set_terminal(monkeypatch)
    with progress("embedding") as show:
        for done in range(1, 11):
            show(done, 10)
    assert "embedding" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()


def test_bar_accepts_growing_total(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = set_terminal(monkeypatch)
    with progress("reading") as show:
        show(1, 0)
        show(5, 3)
        show(6, 6)
    assert "6/6" in terminal.getvalue()


def test_bar_is_hidden_before_first_update_and_when_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = set_terminal(monkeypatch)
    with progress("reading"):
        pass
    with progress("reading", quiet=True) as show:
        show(1, 2)
    assert terminal.getvalue() == ""


def test_bar_is_hidden_without_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("reading") as show:
        show(1, 2)
    assert stream.getvalue() == ""
