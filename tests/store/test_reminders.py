"""Reminders and reviews: set, due, repeated, ended, and carried by undo, exports and merges."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from opencode_memory import ConflictError, InvalidInputError, MemoryStore
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.text.clock import to_ms
from opencode_memory.text.formatting import short_id
from support.stores import DAY_MS, NOW_MS, open_store, set_clock, texts

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return open_store(tmp_path / "store", project="app")


def test_reminder_is_due_from_its_moment_on(store: MemoryStore) -> None:
    memory = store.remember("Rotate the key of the gateway")
    store.reminders.set(memory.id, NOW + DAY)
    assert store.reminders.due() == []
    set_clock(store, NOW_MS + DAY_MS)
    assert texts(store.reminders.due()) == ["Rotate the key of the gateway"]


def test_reminder_keeps_its_time_of_day_when_clocks_change(tmp_path: Path) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 21, tzinfo=berlin)
    store = open_store(tmp_path / "zoned", project="app", zone=berlin, clock_ms=to_ms(first))
    id = store.remember("Write the report", remind_at=first, remind_every=7).id
    moments = []
    for weeks in (0, 1, 23):
        set_clock(store, to_ms(first + weeks * 7 * DAY))
        moments.append(store.reminders.advance(id).remind_at)
    assert moments == [first + weeks * 7 * DAY for weeks in (1, 2, 24)]


def test_longest_due_comes_first_and_other_projects_stay_out(store: MemoryStore) -> None:
    for text, days, project in (("second", 2, "app"), ("first", 3, "app"), ("elsewhere", 4, "other")):
        store.remember(text, project=project, remind_at=NOW - days * DAY)
    store.remember("everywhere", scope="global", review_after=NOW - DAY)
    assert texts(store.reminders.due()) == ["first", "second", "everywhere"]
    assert texts(store.reminders.due(project="*")) == ["elsewhere", "first", "second", "everywhere"]
    assert texts(store.reminders.due(scope="global")) == ["everywhere"]
    assert texts(store.reminders.due(limit=1)) == ["first"]


def test_reminder_of_a_replaced_memory_names_the_newer_one(store: MemoryStore) -> None:
    old = store.remember("The gateway listens on port 8080").id
    new = store.remember("The gateway listens on port 9090").id
    assert store.get(old).superseded_by == new
    with pytest.raises(ConflictError, match="is superseded, so a reminder of it would never be shown") as error:
        store.reminders.set(old, NOW + DAY)
    assert short_id(new) in str(error.value.hint)


@pytest.mark.parametrize("end", ["archive", "delete"])
def test_hidden_memory_is_not_due(store: MemoryStore, end: str) -> None:
    id = store.remember("a walrus", remind_at=NOW - DAY).id
    getattr(store, end)(id)
    assert store.reminders.due() == []


def test_expired_memory_is_not_due(store: MemoryStore) -> None:
    store.remember("a walrus", remind_at=NOW - DAY, expires_at=NOW - DAY)
    assert store.reminders.due() == []


def test_reminder_that_repeats_moves_to_its_next_time_in_the_future(store: MemoryStore) -> None:
    id = store.remember("Update the dependencies", remind_at=NOW - 10 * DAY, remind_every=7).id
    assert store.reminders.advance(id).remind_at == NOW + 4 * DAY
    with pytest.raises(ConflictError, match="not due yet"):
        store.reminders.advance(id)


def test_reminder_that_does_not_repeat_ends(store: MemoryStore) -> None:
    id = store.remember("Ask for the new logo", remind_at=NOW - DAY).id
    assert store.reminders.advance(id).remind_at is None
    with pytest.raises(ConflictError, match="has no reminder"):
        store.reminders.advance(id)


def test_confirmed_memory_was_reviewed(store: MemoryStore) -> None:
    id = store.remember("Deploys start at noon", review_after=NOW - DAY, review_every=90).id
    assert store.edit(id, verified=True).review_after == NOW + 90 * DAY
    # An early confirmation does not move the review.
    assert store.edit(id, verified=True).review_after == NOW + 90 * DAY
    once = store.remember("The release is frozen", review_after=NOW - DAY).id
    assert store.edit(once, verified=True).review_after is None


def test_clear_removes_moment_and_interval(store: MemoryStore) -> None:
    id = store.remember("a walrus", remind_at=NOW + DAY, remind_every=7, review_after=NOW, review_every=30).id
    cleared = store.reminders.clear(id)
    assert (cleared.remind_at, cleared.remind_every, cleared.review_every) == (None, None, 30)
    assert store.reminders.clear(id, is_review=True).review_after is None
    store.undo()
    assert store.get(id).review_every == 30


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"remind_every": 7}, "remind_every"),
        ({"remind_at": NOW, "remind_every": 0}, "remind_every"),
        ({"remind_at": NOW, "remind_every": 3651}, "remind_every"),
        ({"review_after": NOW, "review_every": -1}, "review_every"),
        ({"remind_at": 10**18}, "remind_at"),
    ],
)
def test_bad_schedule_is_refused(store: MemoryStore, fields: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        store.remember("a walrus", **fields)
    assert error.value.field == field
    assert store.count() == 0


def test_text_stored_again_takes_the_new_reminder(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    assert store.remember("a walrus", remind_at=NOW + DAY, remind_every=7).id == id
    assert (store.get(id).remind_at, store.get(id).remind_every) == (NOW + DAY, 7)
    store.remember("a walrus")
    assert store.get(id).remind_at == NOW + DAY


def test_export_keeps_reminders_of_the_own_store_only(store: MemoryStore, tmp_path: Path) -> None:
    id = store.remember("a walrus", remind_at=NOW + DAY, remind_every=7, review_after=NOW, review_every=30).id
    out = io.StringIO()
    export_memories(store, out)
    other = open_store(tmp_path / "other")
    other.remember("Already here.")
    for target, expected in (
        (open_store(tmp_path / "moved"), (NOW + DAY, 7, NOW, 30)),
        (other, (None, None, None, None)),
    ):
        import_memories(target, io.StringIO(out.getvalue()))
        found = target.get(id)
        assert (found.remind_at, found.remind_every, found.review_after, found.review_every) == expected
