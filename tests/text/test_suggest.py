"""The nearest of a few known words."""

from __future__ import annotations

import pytest

from opencode_memory.models import Category
from opencode_memory.text.suggest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("desicion", "decision"), ("Facts", "fact"), ("conven", "convention"), ("zebra", None), ("", None)],
)
def test_the_nearest_word_is_named_when_one_is_near(typed: str, meant: str | None) -> None:
    assert nearest(typed, [category.value for category in Category]) == meant


def test_hint_names_the_nearest_or_all() -> None:
    assert did_you_mean("fct", list(Category)) == "did you mean 'fact'?"
    assert did_you_mean("zebra", ["a", "b"]) == "known are: a, b"
