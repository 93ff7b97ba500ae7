"""Remarks of long commands: what Ctrl-C keeps, and how the rest goes on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from opencode_memory.cli import progress
from opencode_memory.store.embed import FIRST_PAGE
from support.command_line import CommandLine
from support.embedders import HookedEmbedder
from support.stores import open_store


def interrupt_after(*, updates: int) -> None:
    with progress.progress("reading", kept="What was read is stored.") as show:
        for done in range(updates):
            show(done, updates)
        raise KeyboardInterrupt


def test_interrupt_after_first_update_tells_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(updates=1)
    assert capsys.readouterr().err == "What was read is stored.\n"


def test_interrupt_before_first_update_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(updates=0)
    assert capsys.readouterr().err == ""


def test_closing_store_leaves_rest_of_embedding_after_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def block(_texts: Sequence[str]) -> None:
        begun.set()
        may_go_on.wait()

    join = threading.Thread.join

    def open_gate_and_join(thread: threading.Thread, timeout: float | None = None) -> None:
        # The store joins its thread after it has set the deadline.
        may_go_on.set()
        join(thread, timeout)

    with open_store(tmp_path, embedder=HookedEmbedder(block), background=True) as store:
        store.remember_many({"content": f"Rule {number}: port {number}."} for number in range(3 * FIRST_PAGE))
        begun.wait()
        monkeypatch.setattr(threading.Thread, "join", open_gate_and_join)
        assert store.indexes.finish(seconds=-1) == 2 * FIRST_PAGE


def test_command_after_interrupted_import_tells_what_waits(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_memory.cli.context._EMBEDDING_SECONDS", -1.0)
    monkeypatch.setattr("opencode_memory.store.embed.FIRST_PAGE", 1)
    monkeypatch.setattr("opencode_memory.cli.context._MANY", 1)
    with open_store(cli.folder / "data", background=False) as store:
        store.remember_many({"content": f"Rule {number}: port {number}."} for number in range(5))
    answer = cli.ok("--data-dir", str(cli.folder / "data"), "remember", "Deploys run on Friday.")
    assert "without vectors, found by their words until then" in answer.err
