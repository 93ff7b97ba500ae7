"""Statements that the person withdraws by their subject: they are replaced, if it is clear which one is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.context.brief import build_brief
from opencode_memory.context.brief_entries import Wanted
from opencode_memory.models import Category, Memory, Status
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text import clock
from support.learning import FOLDER, SessionInfo, messages, process, user
from support.stores import NOW_MS

PAIRS = Path(__file__).parents[1] / "data" / "corrections" / "withdrawn.jsonl"
PNPM = "Use pnpm instead of npm."
PUSH = "Never force push to main."
FORGET = "Forget the rule about pnpm."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(tmp_path, project="app", background=False, clock_ms=NOW_MS) as store:
        yield store


def say(store: MemoryStore, *texts: str, at: int = NOW_MS + 1_000) -> list[Memory]:
    """Let the person type messages in one session; return what is learned of them."""
    told = messages(*map(user, (*texts, "ok")), of=f"at_{at}", at=at)
    learned = process(store, SessionInfo(id="ses_b", directory=FOLDER), told, is_idle=False)
    return [store.get(id_) for id_ in learned.active]


def test_statement_is_replaced_and_undo_brings_it_back(store: MemoryStore) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    push = store.remember(PUSH, category="directive").id
    (said,) = say(store, FORGET)
    assert (said.content, said.category) == (FORGET, Category.EVENT)
    assert (store.get(pnpm).status, store.get(pnpm).superseded_by) == (Status.SUPERSEDED, said.id)
    assert store.get(push).status is Status.ACTIVE
    store.undo(said.id)
    assert store.get(pnpm).status is Status.ACTIVE


def test_brief_no_longer_holds_the_statement(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention")
    store.remember(PUSH, category="directive")
    say(store, FORGET)
    shown = build_brief(store, Wanted(project="app"), budget=500, count=len, at=clock.now())
    assert f"- {PUSH}" in shown.lines
    (line,) = (line for line in shown.lines if "pnpm" in line)
    assert line.startswith(f"- {FORGET} (")
    assert line.endswith(f"before: {PNPM})")


@pytest.mark.parametrize(
    "text",
    ["Forget what I said about pnpm.", "You can forget the pnpm rule.", "The rule about pnpm no longer applies."],
)
def test_other_words_for_it(store: MemoryStore, text: str) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    say(store, text)
    assert store.get(pnpm).status is Status.SUPERSEDED


def test_statement_behind_it_is_learned_as_well(store: MemoryStore) -> None:
    german = store.remember("From now on write all docs in German.", category="directive").id
    said = say(store, "Forget what I said about German, write all docs in English from now on.")
    assert [memory.content for memory in said] == [
        "Forget what I said about German.",
        "Write all docs in English from now on.",
    ]
    assert store.get(german).status is Status.SUPERSEDED


def test_it_is_not_said_if_the_next_message_takes_it_back(store: MemoryStore) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    say(store, FORGET, "No wait, scratch that.")
    assert store.get(pnpm).status is Status.ACTIVE


def test_statement_of_the_same_session_is_withdrawn_some_messages_later(store: MemoryStore) -> None:
    say(store, "From now on use pnpm, never npm.", at=NOW_MS)
    assert [memory.status for memory in store.list(status=list(Status))] == [Status.ACTIVE]
    say(store, "Please fix the failing test.", "Forget what I said about pnpm.", at=NOW_MS + 9_000)
    assert [memory.category for memory in store.list()] == [Category.EVENT]


def test_none_is_replaced_if_several_have_its_words(store: MemoryStore) -> None:
    ids = [store.remember(text, category="convention").id for text in (PNPM, "Run pnpm audit every week.")]
    say(store, FORGET)
    assert {store.get(id_).status for id_ in ids} == {Status.ACTIVE}


@pytest.mark.parametrize(
    "fields",
    [{"scope": "global"}, {"project": "other"}, {"pinned": True}, {"trust": "agent"}],
    ids=["global", "other project", "pinned", "of an agent"],
)
def test_other_statements_stay(store: MemoryStore, fields: dict[str, object]) -> None:
    pnpm = store.remember(PNPM, **{"category": "convention", **fields}).id
    say(store, FORGET)
    assert store.get(pnpm).status is Status.ACTIVE


def test_subject_that_no_statement_has_replaces_nothing(store: MemoryStore) -> None:
    push = store.remember(PUSH, category="directive").id
    assert say(store, "Forget the rule about writing tests first.") == []
    assert store.get(push).status is Status.ACTIVE


def test_subagent_withdraws_nothing(store: MemoryStore) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    told = messages(user(FORGET), user("ok"), of="ses_c", at=NOW_MS + 1_000)
    process(store, SessionInfo(id="ses_c", directory=FOLDER, parent="ses_b"), told, is_idle=True)
    assert store.get(pnpm).status is Status.ACTIVE


def test_message_that_withdraws_nothing_replaces_nothing(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    replaced = []
    for number, row in enumerate(rows):
        with opencode_memory.open(tmp_path / str(number), project="app", background=False, clock_ms=NOW_MS) as store:
            ids = [store.remember(text, category="convention").id for text in row["stored"]]
            say(store, row["says"])
            gone = [place for place, id_ in enumerate(ids) if store.get(id_).status is not Status.ACTIVE]
        replaced += [(row["withdraws"], place) for place in gone]
    assert [one for one in replaced if one[0] != one[1]] == []
    assert len(replaced) >= 1
