"""Parser of answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencode_memory.learning.digest.answer import Item, parse_answer
from opencode_memory.learning.digest.prompt import MOST_ITEMS, MOST_TEXT
from opencode_memory.learning.digest.report import DropReason
from opencode_memory.models import Category
from support.digested_sessions import ORDER, SUMMARY, write_answer

READ = Item(kind=Category.DIRECTIVE, text=str(ORDER["text"]), quote=str(ORDER["quote"]), message=3, supersedes=())


@pytest.mark.parametrize(
    "text",
    [
        write_answer(ORDER),
        f"```json\n{write_answer(ORDER)}\n```",
        f"Here it is:\n```\n{write_answer(ORDER)}\n```\nAnything else?",
        f"<think>three {{ items }}?</think>\n{write_answer(ORDER)}",
        f"Sure! {write_answer(ORDER)}",
    ],
    ids=["plain", "fenced", "explained", "thought", "preceded"],
)
def test_answer_is_read_with_and_without_text_around_it(text: str) -> None:
    assert parse_answer(text).items == (READ,)


@pytest.mark.parametrize(
    "text", ["", "no", "[]", '{"items": [', '{"notes": []}', '{"items": "none"}', '{"items": NaN}', "{}" * 3]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not"):
        parse_answer(text)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "rumour"}, DropReason.KIND),
        ({"kind": "conversation"}, DropReason.KIND),
        ({"kind": 1}, DropReason.MALFORMED),
        ({"text": ""}, DropReason.MALFORMED),
        ({"text": None}, DropReason.MALFORMED),
        ({"text": "a\u202eb"}, DropReason.MALFORMED),
        ({"text": "a" * (MOST_TEXT + 1)}, DropReason.TOO_LONG),
        ({"quote": "a" * 1_000}, DropReason.TOO_LONG),
        ({"message": 1.5}, DropReason.MALFORMED),
        ({"message": True}, DropReason.MALFORMED),
        ({"supersedes": [1]}, DropReason.MALFORMED),
        ({"supersedes": {"m1": 1}}, DropReason.MALFORMED),
    ],
)
def test_invalid_item_is_dropped_and_the_others_stay(changes: dict[str, Any], reason: DropReason) -> None:
    answer = parse_answer(write_answer({**ORDER, **changes}, ORDER))
    assert answer.items == (READ,)
    assert [dropped.reason for dropped in answer.dropped] == [reason]


def test_items_beyond_the_limit_are_dropped() -> None:
    answer = parse_answer(write_answer(*[ORDER] * (MOST_ITEMS + 2)))
    assert len(answer.items) == MOST_ITEMS
    assert [dropped.reason for dropped in answer.dropped] == [DropReason.TOO_MANY] * 2


def test_zero_items_are_a_valid_answer() -> None:
    answer = parse_answer(json.dumps({"items": [], "summary": SUMMARY}))
    assert answer.items == ()
    assert answer.summary == {"done": SUMMARY["done"], "decided": SUMMARY["decided"]}


@pytest.mark.parametrize("summary", [None, "text", [], {"done": 1}, {"other": "a"}])
def test_malformed_summary_is_left_out(summary: Any) -> None:
    assert parse_answer(json.dumps({"items": [], "summary": summary})).summary == {}
