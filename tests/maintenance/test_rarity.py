"""Rarest part of a text: a few consecutive words that other texts lack."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory._core import terms
from opencode_memory.maintenance.rarity import MOST_CHARACTERS, Rarity, find_rarest_part


def rarity_of(texts: Iterable[str]) -> Rarity:
    rarity = Rarity()
    for text in texts:
        rarity.add(text)
    return rarity


def test_rarest_part_is_missing_in_the_other_texts() -> None:
    common = "the team deploys every service from the main branch after the nightly build"
    asked = f"{common} but Ulla ships pumps elsewhere, {common}"
    assert find_rarest_part(asked, rarity_of([*[common] * 20, asked])) == "Ulla ships pumps elsewhere,"


def test_rarity_is_counted_over_the_added_texts() -> None:
    texts = ["walrus heron", "walrus otter", "walrus heron"]
    rarity = rarity_of(texts)
    assert 0 < rarity.score("walrus") < rarity.score("heron") < rarity.score("otter") < rarity.score("kestrel")
    assert rarity.score("herons") == rarity.score("heron")
    assert rarity.score("the") == 0
    assert rarity.score("heron") == pytest.approx(math.log(1 + 1.5 / 2.5))


def test_identifier_is_as_rare_as_its_rarest_term() -> None:
    rarity = rarity_of(["parse the order total", "order total", "parseOrderTotal"])
    assert rarity.score("parseOrderTotal") > rarity.score("total")


def test_part_does_not_end_with_unsearchable_words() -> None:
    assert find_rarest_part("of the walrus and the", rarity_of(["of the walrus and the"])) == "walrus"


def test_earliest_of_equal_parts_is_taken() -> None:
    text = "alpha beta gamma delta epsilon zeta"
    assert find_rarest_part(text, rarity_of([text])) == "alpha beta gamma delta"


def test_repeated_word_is_counted_once() -> None:
    text = "walrus Walrus otter walrus heron kestrel"
    assert find_rarest_part(text, rarity_of([text])) == "otter walrus heron kestrel"


def test_line_breaks_become_blanks() -> None:
    assert find_rarest_part("walrus\n\n  heron", rarity_of(["walrus heron"])) == "walrus heron"


@pytest.mark.parametrize("text", ["", "   ", "the of and", "!!! …", "\n"])
def test_text_without_searchable_words_has_no_part(text: str) -> None:
    assert find_rarest_part(text, rarity_of([text])) is None


def test_text_without_spaces_is_queried_by_a_part() -> None:
    others = ["東京の天気は今日も晴れで明日は雨が降るかもしれませんが傘は要りません"] * 5
    text = "東京の天気は今日も晴れで倉庫の鍵は金庫にあり明日は雨が降るかもしれませんが傘は要りません"
    part = find_rarest_part(text, rarity_of([*others, text]))
    assert part is not None
    assert "倉庫の鍵" in part
    assert len(part) <= 24


def test_part_of_long_words_has_fewer_of_them() -> None:
    words = ["walrus" * 5, "heron" * 6, "kestrel" * 5]
    assert find_rarest_part(" ".join(words), rarity_of(words)) == words[0]


@given(st.lists(st.text(max_size=200), min_size=1, max_size=5))
def test_part_is_short_consecutive_and_searchable(texts: list[str]) -> None:
    part = find_rarest_part(texts[0], rarity_of(texts))
    if part is None:
        return
    assert part in " ".join(texts[0].split())
    assert len(part) <= MOST_CHARACTERS
    assert any(terms(part))
