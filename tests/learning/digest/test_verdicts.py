"""Strict parsing of the LLM's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.learning.digest import DropReason, Statement, Verdict
from opencode_memory.learning.digest.chat_completions import Completion, parse_completion
from opencode_memory.learning.digest.verdicts import parse_verdicts
from opencode_memory.models import Category
from support.model_server import note

PNPM = Statement(id="1", category=Category.PREFERENCE, content="use pnpm, not npm", evidence="no, use pnpm, not npm")
SQUASH = Statement(
    id="2", category=Category.DIRECTIVE, content="never squash commits", evidence="never squash commits!"
)


def read(*notes: Any, marked: tuple[Statement, ...] = (PNPM,)) -> tuple[tuple[Verdict, ...], dict[DropReason, int]]:
    verdicts, dropped = parse_verdicts(json.dumps({"notes": notes}), marked)
    return verdicts, dict(dropped)


def reason_for(verdict: Any) -> DropReason:
    """Return why a verdict about PNPM is dropped, while a second verdict is used."""
    verdicts, dropped = read(verdict, note("2"), marked=(PNPM, SQUASH))
    assert [verdict.id for verdict in verdicts] == ["2"]
    reasons = set(dropped) - {DropReason.UNANSWERED}
    assert len(reasons) == 1
    return reasons.pop()


def test_verdicts_are_in_the_order_of_the_statements() -> None:
    verdicts, dropped = read(
        note("2", keep=False), note("1", content="Use pnpm instead of npm.", category="decision"), marked=(PNPM, SQUASH)
    )
    assert verdicts == (
        Verdict(id="1", keep=True, content="Use pnpm instead of npm.", category=Category.DECISION),
        Verdict(id="2", keep=False, content=None, category=Category.DIRECTIVE),
    )
    assert not dropped


def test_null_content_and_category_keep_the_originals() -> None:
    assert read(note("1")) == ((Verdict(id="1", keep=True, content=None, category=Category.PREFERENCE),), {})


def test_rejected_statement_has_no_content_and_keeps_its_category() -> None:
    (verdict,), _ = read(note("1", keep=False, content="Made up.", category="fact"))
    assert verdict == Verdict(id="1", keep=False, content=None, category=Category.PREFERENCE)


def test_content_is_joined_into_one_line() -> None:
    (verdict,), _ = read(note("1", content=" Use pnpm,\n\tnot  npm. "))
    assert verdict.content == "Use pnpm, not npm."


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "\n```JSON\n{}\n```\n"])
def test_one_code_fence_is_accepted(fence: str) -> None:
    verdicts, _ = parse_verdicts(fence.replace("{}", json.dumps({"notes": [note("1")]})), (PNPM,))
    assert [verdict.id for verdict in verdicts] == ["1"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure! Here are the notes.",
        'Sure! {"notes": []}',
        '{"notes": []} Anything else?',
        '```json\n{"notes": []}\n```\nAnything else?',
        '```json\n```json\n{"notes": []}\n```\n```',
        '{"notes": [',
        "[]",
        "null",
        "{}",
        '{"notes": {}}',
        '{"notes": [], "orders": []}',
        '{"notes": [], "notes": []}',
        '{"notes": [NaN]}',
        '{"notes": [' + "[" * 100_000,
        '{"notes": [' + "9" * 5_000 + "]}",
    ],
)
def test_answer_of_another_form_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_verdicts(text, (PNPM,))


@pytest.mark.parametrize(
    "verdict",
    [
        "1",
        None,
        {},
        [note("1")],
        note(1),
        note(None),
        note("1", keep="true"),
        note("1", keep=1),
        note("1", keep=None),
        note("1", content=7),
        note("1", content=["use pnpm"]),
        note("1", content=""),
        note("1", content=" \n"),
        note("1", content="use pnpm\x1b[2J"),
        note("1", content="use \u202epnpm"),
        note("1", content="use pnpm \ud83d"),
        note("1", category=["fact"]),
        note("1", topic=None),
        note("1", trust="user"),
        note("1", project="other"),
        {"id": "1", "keep": True, "content": None},
    ],
)
def test_verdict_with_other_keys_or_types_is_malformed(verdict: Any) -> None:
    assert reason_for(verdict) is DropReason.MALFORMED


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (note("3", content="use pnpm"), DropReason.UNKNOWN_ID),
        (note("1 "), DropReason.UNKNOWN_ID),
        (note("1", category="directive"), DropReason.DIRECTIVE),
        (note("1", keep=False, category="directive"), DropReason.DIRECTIVE),
        (note("1", category="conversation"), DropReason.CATEGORY),
        (note("1", category="Fact"), DropReason.CATEGORY),
        (note("1", category=""), DropReason.CATEGORY),
        (note("1", content="use pnpm, not npm " * 28), DropReason.TOO_LONG),
        (note("1", content="Deploy on Fridays."), DropReason.UNSUPPORTED),
        (note("1", content="Use npm."), DropReason.NEGATION),
    ],
)
def test_invalid_verdict_is_dropped_and_others_are_used(verdict: Any, reason: DropReason) -> None:
    assert reason_for(verdict) is reason


def test_content_of_500_characters_is_not_too_long() -> None:
    content = "use pnpm, not npm".ljust(500, "!")
    (verdict,), _ = read(note("1", content=content))
    assert verdict.content == content


def test_duplicate_verdicts_are_dropped() -> None:
    verdicts, dropped = read(note("1"), note("1", keep=False), {"id": "1"}, note("2"), marked=(PNPM, SQUASH))
    assert [verdict.id for verdict in verdicts] == ["2"]
    assert dropped == {DropReason.DOUBLED_ID: 3}


def test_missing_verdict_counts_as_unanswered() -> None:
    assert read(note("2"), marked=(PNPM, SQUASH))[1] == {DropReason.UNANSWERED: 1}


def test_directive_of_the_rules_stays_a_directive() -> None:
    (verdict,), dropped = read(note("2", category="directive"), marked=(SQUASH,))
    assert verdict.category is Category.DIRECTIVE
    assert not dropped


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["1", "fact", "use pnpm"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.fixed_dictionaries({}, optional={"id": inner, "keep": inner, "content": inner, "category": inner})
    ),
    max_leaves=12,
)


@given(st.lists(_JSON))
def test_any_verdict_is_used_or_counted_as_dropped(notes: list[Any]) -> None:
    text = json.dumps({"notes": notes})
    if "NaN" in text or "Infinity" in text:
        return
    verdicts, dropped = parse_verdicts(text, (PNPM,))
    assert len(verdicts) + sum(dropped.values()) - dropped[DropReason.UNANSWERED] == len(notes)


@given(_JSON)
def test_any_json_envelope_is_parsed(answer: Any) -> None:
    text = json.dumps(answer)
    if "NaN" not in text and "Infinity" not in text:
        assert parse_completion(text.encode()) == Completion(text=None, is_cut=False, tokens=None)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 12}, 12),
        ({"prompt_tokens": 5, "completion_tokens": 6}, 11),
        ({"prompt_tokens": 5}, None),
        ({"total_tokens": -1}, None),
        ({"total_tokens": True}, None),
        ({"total_tokens": "12"}, None),
        ({"total_tokens": 1.5}, None),
        ({"total_tokens": 10**30}, None),
        (None, None),
        ([], None),
    ],
)
def test_only_plausible_usage_is_accepted(usage: Any, tokens: int | None) -> None:
    assert parse_completion(json.dumps({"usage": usage}).encode()).tokens == tokens
