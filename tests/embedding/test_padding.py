"""Padded batches hold every text once, stay within the budget, and waste little on padding."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.embedding.folder.padding import MAX_PADDING, TOKEN_BUDGET, plan_padded_batches

LENGTHS = st.lists(st.integers(min_value=2, max_value=256), max_size=300)


@given(lengths=LENGTHS, workers=st.integers(min_value=1, max_value=4))
def test_every_text_is_in_exactly_one_padded_batch(lengths: list[int], workers: int) -> None:
    batches = plan_padded_batches(lengths, workers=workers)

    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    assert all(batches)


@given(lengths=LENGTHS, workers=st.integers(min_value=1, max_value=4))
def test_no_batch_exceeds_the_budget_or_the_share_of_padding(lengths: list[int], workers: int) -> None:
    for batch in plan_padded_batches(lengths, workers=workers):
        padded = len(batch) * max(lengths[index] for index in batch)
        assert padded <= TOKEN_BUDGET
        assert padded - sum(lengths[index] for index in batch) <= MAX_PADDING * padded


def test_long_texts_are_not_padded_together_with_short_ones() -> None:
    assert plan_padded_batches([3, 250, 40, 9]) == [[1], [2], [3], [0]]


def test_a_small_job_is_shared_among_the_workers() -> None:
    assert len(plan_padded_batches([32] * 10)) == 1
    assert [len(batch) for batch in plan_padded_batches([32] * 10, workers=2)] == [5, 5]
