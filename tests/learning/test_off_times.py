"""Tests of off times: what is said while learning is off stays unread after it is on again."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning import off_times
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.off_times import OffTimes, find_unread
from opencode_memory.learning.switches import Switches, is_paused, pause, switch
from support.learning import (
    LEDGER,
    RUFF,
    SHOP,
    find_project,
    list_learned_everywhere,
    make_reader,
    message,
    say,
    user,
)
from support.opencode import FakeOpenCode

LATER_MS = 10_000_000
ALL = frozenset({"opencode", "live"})


def find_ids(store: MemoryStore, *times: int, source: str = "opencode", **options: object) -> list[int]:
    told = [message(str(at), user(LEDGER), at=at) for at in times]
    fields = {"source": source, "project": "app", "session": SHOP} | options
    return [found.at_ms for found in find_unread(store, told, **fields)]


def test_times_of_a_switch_are_half_open_spans() -> None:
    times = OffTimes().turn(10, on=False).turn(20, on=True).turn(30, on=False)
    assert [at for at in (9, 10, 19, 20, 29, 30, 99) if times.covers(at)] == [10, 19, 30, 99]
    assert not times.covers(99, with_present=False)
    assert OffTimes.from_json(times.as_json()) == times
    assert times.turn(40, on=False) == times
    assert OffTimes().turn(5, on=True) == OffTimes()


@pytest.mark.parametrize(
    "off",
    [Switches(enabled=False), Switches(sources=frozenset({"live"})), Switches(sources=frozenset())],
    ids=["all", "source", "no source"],
)
def test_messages_of_a_time_without_the_source_stay_unread(
    store: MemoryStore, opencode: FakeOpenCode, off: Switches
) -> None:
    say(opencode, opencode.session("ses_1"), LEDGER, at=1_000)
    off.note(store, at_ms=4_000)
    say(opencode, "ses_1", RUFF, at=5_000)
    say(opencode, opencode.session("ses_2"), RUFF, at=6_000)
    Switches().note(store, at_ms=8_000)
    say(opencode, "ses_1", "I prefer small commits, always.", at=9_000)

    make_reader(store, opencode.path).read(at_ms=LATER_MS)
    make_reader(store, opencode.path).read(at_ms=2 * LATER_MS)

    learned = list_learned_everywhere(store)
    assert LEDGER in learned
    assert RUFF not in learned


def test_history_before_the_installation_is_read(store: MemoryStore, opencode: FakeOpenCode) -> None:
    say(opencode, opencode.session("ses_1"), LEDGER, at=1_000)
    Switches().note(store, at_ms=4_000)
    make_reader(store, opencode.path).read(at_ms=LATER_MS)
    assert list_learned_everywhere(store) == [LEDGER]


def test_requested_reading_reads_a_source_that_is_off_now(store: MemoryStore, opencode: FakeOpenCode) -> None:
    Switches(enabled=False).note(store, at_ms=500)
    say(opencode, opencode.session("ses_1"), LEDGER, at=1_000)
    make_reader(store, opencode.path, is_requested=True).read(at_ms=LATER_MS)
    assert list_learned_everywhere(store) == [LEDGER]


def test_requested_reading_leaves_out_an_earlier_time_when_learning_was_off(store: MemoryStore) -> None:
    Switches(enabled=False).note(store, at_ms=500)
    Switches().note(store, at_ms=2_000)
    assert find_ids(store, 400, 1_000, 3_000, is_requested=True) == [1_000]


def test_switches_of_sources_are_recorded_apart(store: MemoryStore) -> None:
    Switches(sources=frozenset({"opencode"})).note(store, at_ms=500)
    assert find_ids(store, 1_000, source="live") == [1_000]
    assert find_ids(store, 1_000, source="opencode") == []


def test_project_that_is_no_longer_skipped_keeps_its_off_time(store: MemoryStore) -> None:
    Switches(skip_projects=("app",)).note(store, at_ms=500)
    Switches().note(store, at_ms=2_000)
    assert find_ids(store, 1_000, 3_000) == [1_000]
    assert find_ids(store, 1_000, project="else") == []


def test_message_typed_while_the_project_was_off_stays_unread_without_a_reading_meanwhile(
    store: MemoryStore, opencode: FakeOpenCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = find_project(store)
    times = iter((4_000, 8_000))
    monkeypatch.setattr(off_times, "to_ms", lambda _: next(times))
    switch(store, project, on=False)
    say(opencode, opencode.session("ses_1"), LEDGER, at=5_000)
    switch(store, project, on=True)
    say(opencode, "ses_1", RUFF, at=9_000)

    make_reader(store, opencode.path).read(at_ms=LATER_MS)

    assert list_learned_everywhere(store) == [RUFF]


def test_message_typed_while_the_session_was_paused_stays_unread(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter((4_000, 8_000))
    monkeypatch.setattr(off_times, "to_ms", lambda _: next(times))
    pause(store, "ses_a", paused=True)
    pause(store, "ses_a", paused=False)
    child = SessionInfo(id="ses_child", parent="ses_a")
    assert find_ids(store, 3_000, 5_000, 9_000) == [5_000]
    assert find_ids(store, 5_000, session=child) == [5_000]
    assert find_ids(store, 5_000, session=SessionInfo(id="ses_b")) == []


def test_pause_from_a_projects_folder_counts_for_the_server(store: MemoryStore) -> None:
    pause(store.for_project("app"), "ses_a", paused=True)
    assert is_paused(store.for_project(None), "ses_a")
    assert is_paused(store.for_project("else"), "ses_a")


def test_damaged_record_is_no_off_time() -> None:
    assert OffTimes.from_json({"since": "x"}) == OffTimes()
    assert OffTimes.from_json(None) == OffTimes()
    for spans in ([1], [[1]], [[1, 2, 3]], [["a", "b"]], [[1, None]]):
        assert OffTimes.from_json({"since": None, "spans": spans}) == OffTimes()
