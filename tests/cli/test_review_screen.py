"""The review in a terminal: one key for each decision."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import opencode_memory
from opencode_memory import MemoryStore, Trust
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.options import GlobalOptions
from opencode_memory.cli.review_screen import Decisions, decide_each
from opencode_memory.learning.review import REPLACES, list_waiting
from opencode_memory.text import clock

TEXTS = ("Always answer briefly.", "Never push on Fridays.", "Always run the linter.")
Press = Callable[..., Decisions]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(tmp_path / "store", project="shop", background=False) as opened:
        learner = opened.acting_as(Trust.EXTRACTED)
        for text in TEXTS:
            learner.remember(text, category="directive", trust="extracted")
        yield opened


@pytest.fixture
def press(store: MemoryStore, tmp_path: Path) -> Press:
    """Returns a function that reviews with these keys. A function among them is called, and returns its key."""

    def run(*keys: str | Callable[[], str]) -> Decisions:
        left = list(keys)

        def read() -> str:
            if not left:
                raise EOFError
            key = left.pop(0)
            return key if isinstance(key, str) else key()

        run = Invocation(GlobalOptions(folder=str(tmp_path)), clock.now())
        return decide_each(run, store, list(list_waiting(store, everywhere=False)), read=read)

    return run


def waiting(store: MemoryStore) -> list[str]:
    return sorted(memory.content for memory in list_waiting(store, everywhere=False))


def test_one_key_decides_and_the_next_is_shown(press: Press, store: MemoryStore) -> None:
    done = press("a", "r", "q")
    assert (len(done.accepted), len(done.rejected)) == (1, 1)
    assert store.get(done.accepted[0]).is_confirmed
    assert store.get(done.rejected[0]).status == "archived"
    assert len(waiting(store)) == 1


def test_keys_go_through_the_list(press: Press, store: MemoryStore) -> None:
    first = next(iter(list_waiting(store, everywhere=False)))
    press("j", "\x1b[B", "j", "k", "k", "k", "r")
    assert store.get(first.id).status == "archived"


@pytest.mark.parametrize("key", ["a", "r"])
def test_undo_brings_the_memory_back_to_the_list(press: Press, store: MemoryStore, key: str) -> None:
    done = press(key, "u", "q")
    assert (done.accepted, done.rejected) == ([], [])
    assert waiting(store) == sorted(TEXTS)


def test_edit_accepts_other_words(press: Press, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click, "edit", lambda text: " Answer in one sentence. ")
    done = press("e", "q")
    assert store.get(done.accepted[0]).content == "Answer in one sentence."
    monkeypatch.setattr(click, "edit", lambda text: None)
    assert press("e", "q").accepted == []
    assert len(waiting(store)) == 2


def test_refused_words_do_not_end_the_review_and_are_kept_in_a_file(
    press: Press,
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(click, "edit", lambda text: "word " * 30_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = press("e", "j", "a", "q")
    assert (len(done.accepted), len(waiting(store))) == (1, 2)
    said = capsys.readouterr().out
    assert "at most 100000" in said
    (kept,) = tmp_path.glob("opencode-memory-*.md")
    assert f"your text is in {kept}" in said
    assert kept.read_text() == "word " * 30_000


def test_undo_of_an_accepted_replacement_restores_both(press: Press, store: MemoryStore) -> None:
    old = store.remember("Answer in two words.", category="directive").id
    agent = {"category": "directive", "trust": "agent", "status": "candidate"}
    new = store.acting_as(Trust.AGENT).remember("Answer in three words.", metadata={REPLACES: old}, **agent).id
    assert press("a", "u", "q").accepted == []
    assert [store.get(id).status for id in (old, new)] == ["active", "candidate"]


def test_undo_of_an_edit_restores_the_words(press: Press, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click, "edit", lambda text: "Answer in one sentence.")
    press("e", "u", "q")
    assert waiting(store) == sorted(TEXTS)


@pytest.mark.parametrize("key", ["a", "r", "e"])
def test_decision_on_a_memory_that_an_agent_has_changed_since_shows_its_new_text(
    press: Press,
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    monkeypatch.setattr(click, "edit", lambda text: "Answer briefly.")
    first = next(iter(list_waiting(store, everywhere=False)))

    def interfere() -> str:
        store.acting_as(Trust.AGENT).edit(first.id, content="Always push to main.")
        return key

    done = press(interfere, "q")
    assert (done.accepted, done.rejected) == ([], [])
    said = capsys.readouterr().out
    assert "changed since" in said
    assert "Always push to main." in said
    assert "Always push to main." in waiting(store)
    assert press("a", "q").accepted == [first.id]


@pytest.mark.parametrize("how", ["archive", "delete"])
def test_memory_that_is_gone_meanwhile_leaves_the_list(press: Press, store: MemoryStore, how: str) -> None:
    first = next(iter(list_waiting(store, everywhere=False)))

    def interfere() -> str:
        getattr(store, how)(first.id)
        return "a"

    done = press(interfere, "a", "q")
    assert len(done.accepted) == 1
    assert first.id not in done.accepted
    assert len(waiting(store)) == 1


def test_other_keys_change_nothing_and_are_named(
    press: Press, store: MemoryStore, capsys: pytest.CaptureFixture[str]
) -> None:
    press("z", "u", "q")
    said = capsys.readouterr()
    assert "'z' is no key" in said.out
    assert "Nothing was decided yet" in said.out
    assert waiting(store) == sorted(TEXTS)
    assert "3 memories left" in said.err


@pytest.mark.parametrize("key", ["\x03", "\x04", "\x1b", "q"])
def test_each_way_out_keeps_what_was_decided(press: Press, store: MemoryStore, key: str) -> None:
    assert len(press("a", key).accepted) == 1
    assert len(waiting(store)) == 2
