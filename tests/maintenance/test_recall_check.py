"""Sample of a recall check, and unused and stale memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.maintenance.recall_check import is_stale, is_unused, sample_places, summarize
from opencode_memory.models import Category, Memory, ScopeKind, Source, Status, Trust

NOW = datetime(2026, 9, 21, tzinfo=UTC)
MEMORY = Memory(
    id="00000000-0000-7000-8000-000000000000", key=1, content="a walrus", category=Category.FACT, scope=ScopeKind.GLOBAL,
    project=None, topic=None, status=Status.ACTIVE, trust=Trust.USER, pinned=False, session=None, position=None,
    speaker=None, time=NOW, source=Source(), entities=(), tags=(), created_at=NOW, updated_at=NOW, verified_at=None,
    expires_at=None, used_at=None, uses=0, superseded_by=None, remind_at=None,
    remind_every=None, review_after=None, review_every=None, confidence=None, metadata={},
)  # fmt: skip


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@given(st.integers(1, 5000), st.integers(1, 500))
def test_sample_has_one_memory_of_each_interval(total: int, wanted: int) -> None:
    places = list(sample_places(total, wanted))
    assert len(places) == min(total, wanted)
    if wanted < total:
        # The exact interval of an index; intervals differ in length if the total is not a multiple.
        bounds = [number * total // wanted for number in range(wanted + 1)]
        assert all(low <= place < high for low, place, high in zip(bounds, places, bounds[1:], strict=False))


def test_sample_is_deterministic_and_not_periodic() -> None:
    places = list(sample_places(10_000, 100))
    assert places == list(sample_places(10_000, 100))
    assert len({second - first for first, second in pairwise(places)}) > 50


@pytest.mark.parametrize("total", [0, 1, 7, 10])
def test_small_store_is_sampled_completely(total: int) -> None:
    assert list(sample_places(total, 10)) == list(range(total))


def test_memory_never_used_for_30_days_is_unused() -> None:
    old = replace(MEMORY, created_at=days_ago(30.1))
    assert is_unused(old, at=NOW)
    assert not is_unused(replace(MEMORY, created_at=days_ago(29.9)), at=NOW)
    assert not is_unused(replace(old, uses=1, used_at=days_ago(20)), at=NOW)
    assert not is_unused(replace(old, category=Category.CONVERSATION), at=NOW)


@pytest.mark.parametrize("touched", ["updated_at", "verified_at", "used_at"])
def test_memory_untouched_for_180_days_is_stale(touched: str) -> None:
    old = replace(MEMORY, created_at=days_ago(400), updated_at=days_ago(400))
    assert is_stale(replace(old, **{touched: days_ago(180.1)}), at=NOW)
    assert not is_stale(replace(old, **{touched: days_ago(179.9)}), at=NOW)
    assert not is_stale(replace(old, category=Category.CONVERSATION), at=NOW)


def test_summary_shows_the_first_words_on_one_line() -> None:
    assert summarize(replace(MEMORY, content="# Title\n\n  text")).excerpt == "# Title text"
    long = summarize(replace(MEMORY, content="word " * 20_000)).excerpt
    assert len(long) <= 100
    assert long.endswith("word…")
