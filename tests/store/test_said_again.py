"""A statement that is said again is the newest word on its subject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from opencode_memory import Memory, MemoryStore, Source
from support.stores import DAY_MS, NOW_MS, recalled, set_clock

OLD = "We decided to use Postgres for the archive service"
NEW = "We decided to use NATS for the archive service"
OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """A store without an embedder, so that words must suffice."""
    return open_store(project="app")


def day(number: int) -> datetime:
    return datetime.fromtimestamp((NOW_MS + number * DAY_MS) / 1000, UTC)


def say(store: MemoryStore, number: int, content: str, **fields: object) -> Memory:
    """Say something on a day; return the memory."""
    set_clock(store, NOW_MS + number * DAY_MS)
    return store.get(store.remember(content, category="decision", **fields).id)


def newest(store: MemoryStore) -> str:
    """Return the statement that the other one stands behind."""
    ids = [memory.id for memory in store.list()]
    [(id_, [earlier])] = store.earlier(ids).items()
    content = store.get(id_).content
    assert earlier.memory.content != content
    assert recalled(store, "archive service")[0] == content
    assert [memory.id for memory in store.later([earlier.memory.id])] == [id_]
    return content


@pytest.mark.parametrize("trust", ["user", "agent"])
def test_repeated_statement_is_newer_than_one_that_contradicts_it(store: MemoryStore, trust: str) -> None:
    first = say(store, 0, OLD, trust=trust)
    say(store, 1, NEW, trust=trust)
    assert newest(store) == NEW
    again = say(store, 2, OLD, trust=trust)
    assert (again.id, again.created_at, again.time) == (first.id, first.created_at, day(2))
    assert newest(store) == OLD
    say(store, 3, NEW, trust=trust)
    assert newest(store) == NEW


def test_undo_takes_back_that_a_statement_was_said_again(store: MemoryStore) -> None:
    first = say(store, 0, OLD)
    say(store, 1, NEW)
    say(store, 2, OLD)
    [change] = store.undo()
    assert (change.kind, change.id) == ("merge", first.id)
    assert newest(store) == NEW
    assert store.get(first.id).time == first.time


def test_agent_that_repeats_what_the_user_said_earlier_does_not_renew_it(store: MemoryStore) -> None:
    say(store, 0, OLD)
    say(store, 1, NEW)
    say(store, 2, OLD, trust="agent")
    assert newest(store) == NEW


@pytest.mark.parametrize(
    "fields",
    [{"source": Source(file="notes.md", line=1)}, {"trust": "imported"}, {"trust": "tool"}],
    ids=["file", "imported", "tool"],
)
def test_text_that_is_read_again_is_not_said_again(store: MemoryStore, fields: dict[str, object]) -> None:
    fields = {"trust": "agent"} | fields
    first = say(store, 0, OLD, **fields)
    say(store, 1, NEW, **fields)
    assert say(store, 2, OLD, **fields).time == first.time


def test_import_of_a_statement_is_not_said_again(store: MemoryStore) -> None:
    first = say(store, 0, OLD)
    say(store, 1, NEW)
    set_clock(store, NOW_MS + 2 * DAY_MS)
    store.remember_many([{"id": first.id, "content": OLD, "category": "decision", "created_at": first.created_at}])
    assert newest(store) == NEW


def test_day_of_an_event_stays_when_it_is_mentioned_again(store: MemoryStore) -> None:
    first = say(store, 0, OLD, time=day(-30))
    assert say(store, 2, OLD).time == first.time == day(-30)


def test_topic_with_a_new_text_is_newer_than_a_statement_against_it(store: MemoryStore) -> None:
    say(store, 0, "The archive service runs on Redis", topic="archive", trust="agent")
    say(store, 1, NEW, trust="agent")
    say(store, 2, OLD, topic="archive", trust="agent")
    assert newest(store) == OLD


def test_older_session_that_is_read_later_does_not_make_a_statement_older(store: MemoryStore) -> None:
    for number, (when, content) in enumerate([(5, OLD), (3, NEW), (1, OLD)]):
        source = Source(session=f"ses_{number}", message="msg_1")
        evidence = {"rule": "x", "evidence": content}
        say(store, 9, content, time=day(when), source=source, metadata=evidence)
    assert newest(store) == OLD
