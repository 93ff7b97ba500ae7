"""Quality of learning on hand-written sets: floors slightly below the measured values.

These sets do not resemble real talk, as ``docs/quality.md`` explains. They show that a form of a sentence is still
recognised and that its counterparts are still left alone; they do not show how useful the memories are.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest

from benches.quality.extraction import judged
from benches.quality.labelled_sessions import FOLDER, labels, read
from opencode_memory.learning.extraction.statements import Context, extract_from_user

LASTING = ("standing order", "order to remember", "choice")
PASSING = ("complaint", "product requirement", "work at hand", "question or thought")


def states_something(text: str) -> bool:
    return any(not one.is_weak for one in extract_from_user(text, Context()))


@cache
def read_sentences() -> tuple[tuple[str, str], ...]:
    lines = (FOLDER / "sentences.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple((one["kind"], one["text"]) for one in map(json.loads, lines))


@pytest.mark.parametrize(("name", "precision"), [("tuning", 0.75), ("practice", 0.55)])
def test_precision_of_peoples_words_in_labelled_sessions_stays_above_the_floor(name: str, precision: float) -> None:
    # A third of the practice sessions is role play, sarcasm and pasted text, made to mislead the rules.
    score = judged(list(read(name)), of_people=True)
    assert score.precision >= precision


@pytest.mark.parametrize(("name", "recall"), [("frozen", 0.03), ("tuning", 0.12), ("practice", 0.08)])
def test_recall_in_labelled_sessions_stays_above_the_floor(name: str, recall: float) -> None:
    # Most labels are plain facts, decisions without a cue and plans, which the rules leave to the digest.
    assert judged(list(read(name))).recall >= recall


@pytest.mark.parametrize("name", ["frozen", "tuning"])
def test_half_of_the_labelled_sequences_have_no_expected_memory(name: str) -> None:
    sequences = list(read(name))
    empty = [one for one in sequences if not labels([one])]
    assert (len(sequences), len(empty)) == (60, 30)


@pytest.mark.parametrize("name", ["frozen", "tuning"])
def test_sessions_without_expected_memories_yield_hardly_any(name: str) -> None:
    score = judged([one for one in read(name) if not labels([one])])
    assert score.clean >= 28


@pytest.mark.parametrize(("kind", "floor"), [*zip(LASTING, (0.95, 0.9, 0.9), strict=True)])
def test_lasting_sentences_of_each_kind_are_found(kind: str, floor: float) -> None:
    found = [states_something(text) for of, text in read_sentences() if of == kind]
    assert sum(found) >= floor * len(found)


@pytest.mark.parametrize("kind", PASSING)
def test_passing_sentences_with_the_same_words_state_nothing(kind: str) -> None:
    assert [text for of, text in read_sentences() if of == kind and states_something(text)] == []


def test_sentences_of_every_kind_are_measured() -> None:
    counts = Counter(kind for kind, _ in read_sentences())
    assert set(counts) == {*LASTING, *PASSING}
    assert min(counts.values()) >= 10


def test_turns_without_an_expected_memory_state_hardly_anything() -> None:
    turns = [json.loads(line) for line in (FOLDER / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    typed = [turn for turn in turns if turn.get("role", "user") == "user" and not turn["expected"]]
    assert sum(states_something(turn["text"]) for turn in typed) <= 0.05 * len(typed)
