"""A supervisor pauses the learning of its worker through standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from opencode_memory import MemoryStore
from opencode_memory.worker.duty import Duty, Work
from opencode_memory.worker.run import LEARN, PAUSE, StdinWaiter, run_worker


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a pipe that the supervisor of this process would write."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "wb", buffering=0):
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writing


def test_last_signal_decides_whether_the_worker_may_learn(supervisor: int) -> None:
    waiter = StdinWaiter(supervised=True)
    for written, may_learn in ((b"\n", True), (PAUSE, False), (b"\n", False), (PAUSE + b"\n" + LEARN, True)):
        os.write(supervisor, written)
        assert waiter(1)
        assert waiter.may_learn is may_learn, written


def test_jobs_of_paused_kind_wait_until_it_is_active(store: MemoryStore) -> None:
    done: list[str] = []

    def note(work: Work) -> None:
        done.append(work.job.kind)

    def work() -> None:
        run_worker(
            store, duties, wait=lambda seconds: seconds == 0, is_active=active.__contains__, lower_priority=False
        )

    duties = [Duty(kind="learn", do=note), Duty(kind="embed", do=note)]
    active = {"embed"}
    for kind in ("learn", "embed"):
        store.jobs.enqueue(kind)
    work()
    assert done == ["embed"]
    active.add("learn")
    work()
    assert done == ["embed", "learn"]


def test_paused_kind_is_not_queued(store: MemoryStore) -> None:
    duty = Duty(kind="learn", do=lambda _: None, is_due=lambda _: True)
    run_worker(store, [duty], wait=lambda _: False, is_active=lambda _: False, lower_priority=False)
    assert not store.jobs.has("learn")
