"""Progress is shown to whoever watches, and to nobody else."""

from __future__ import annotations

import io
import sys

import pytest

from opencode_memory.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Not a fixture: pytest sets its own stream between a fixture and its test.
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_bar_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress("embedding") as show:
        for done in range(1, 11):
            show(done, 10)
    assert "embedding" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()


def test_total_that_grows_does_not_break_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress("reading") as show:
        show(1, 0)
        show(5, 3)
        show(6, 6)
    assert "6/6" in terminal.getvalue()


def test_nothing_is_shown_before_there_is_something_to_tell_or_when_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = watched(monkeypatch)
    with progress("reading"):
        pass
    with progress("reading", quiet=True) as show:
        show(1, 2)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("reading") as show:
        show(1, 2)
    assert stream.getvalue() == ""
