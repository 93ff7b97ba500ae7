"""Batches hold every text once and stay within the budget; runs on threads report, stop and fail as one call."""

from __future__ import annotations

import hashlib
import threading
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.embedding.batching import TOKEN_BUDGET, plan_batches, run_batches

LENGTHS = st.lists(st.integers(min_value=2, max_value=256), max_size=300)


@given(lengths=LENGTHS, workers=st.integers(min_value=1, max_value=4))
def test_every_text_is_in_exactly_one_batch(lengths: list[int], workers: int) -> None:
    batches = plan_batches(lengths, workers=workers)

    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    assert all(batches)


@given(lengths=LENGTHS, workers=st.integers(min_value=1, max_value=4))
def test_no_batch_exceeds_the_budget(lengths: list[int], workers: int) -> None:
    for batch in plan_batches(lengths, workers=workers):
        assert sum(lengths[index] for index in batch) <= TOKEN_BUDGET


def test_the_longest_texts_are_first() -> None:
    assert plan_batches([3, 250, 40, 9])[0] == [1]


def test_texts_of_one_length_fill_the_budget() -> None:
    assert [len(batch) for batch in plan_batches([32] * 20)] == [8, 8, 4]


def test_texts_of_other_lengths_fill_the_budget() -> None:
    assert plan_batches([100, 4, 150, 2]) == [[2, 0, 1, 3]]


def test_a_small_job_is_shared_among_the_workers() -> None:
    assert len(plan_batches([32] * 6)) == 1
    assert [len(batch) for batch in plan_batches([32] * 6, workers=2)] == [3, 3]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_each_batch_is_run_and_reported_once(threads: int) -> None:
    ran: list[int] = []
    reported: list[int] = []

    run_batches(ran.extend, [[0, 1], [2], [3, 4]], threads=threads, done=reported.extend)

    assert sorted(ran) == sorted(reported) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_drops_the_batches_that_wait(threads: int) -> None:
    ran: list[int] = []
    interrupted = threading.Event()

    def run(batch: list[int]) -> None:
        if batch != [0]:
            interrupted.wait()
            hashlib.sha256(bytes(2_000_000))  # work enough that all the others cannot end before they are dropped
        ran.extend(batch)

    def done(_: list[int]) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    batches = [[index] for index in range(1_000)]
    with pytest.raises(KeyboardInterrupt):
        run_batches(run, batches, threads=threads, done=done)

    assert 0 in ran
    assert len(ran) < len(batches)


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    def run(batch: list[int]) -> None:
        if batch == [1]:
            message = "broken"
            raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="broken"):
        run_batches(run, [[0], [1], [2]], threads=2, done=lambda _: None)
