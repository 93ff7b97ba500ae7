"""Expiry is exact at the time of the query (I7), for memories and for values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from opencode_memory import ConflictError, InvalidInputError, MemoryStore
from support.stores import DAY_MS, NOW_MS, recalled, set_clock, texts

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.mark.parametrize("life", [{"ttl_seconds": 90}, {"expires_at": NOW + timedelta(seconds=90)}])
@pytest.mark.parametrize("is_indexed", [False, True])
def test_i7_a_memory_is_returned_until_its_last_millisecond(store: MemoryStore, life, is_indexed: bool) -> None:
    store.remember("a walrus", entities=["e"], **life)
    if is_indexed:
        store.indexes.embed_pending()
        store.indexes.catch_up()
    for after_ms, wanted in ((89_999, ["a walrus"]), (90_000, []), (10 * DAY_MS, [])):
        set_clock(store, NOW_MS + after_ms)
        assert recalled(store, "walrus") == recalled(store, "walrus", entity="e") == texts(store.list()) == wanted
        assert store.count() == len(wanted)


def test_an_expired_memory_is_shown_when_asked_for(store: MemoryStore) -> None:
    id = store.remember("a walrus", ttl_seconds=1).id
    set_clock(store, NOW_MS + 1000)
    assert texts(store.list(with_expired=True)) == ["a walrus"]
    assert store.get(id).expires_at == NOW + timedelta(seconds=1)
    assert store.stats().expired == 1


def test_an_expired_memory_is_no_neighbour(store: MemoryStore) -> None:
    asked = store.remember("a grey walrus sleeps").id
    store.remember("a grey walrus swims", ttl_seconds=1)
    store.indexes.embed_pending()
    set_clock(store, NOW_MS + 1000)
    assert store.related(asked) == []


@pytest.mark.parametrize("first_is_expired", [True, False])
def test_merge_lasts_as_long_as_the_memory_that_lasts_longest(store: MemoryStore, first_is_expired: bool) -> None:
    ids = [store.remember("a grey walrus", ttl_seconds=1).id, store.remember("a grey heron").id]
    set_clock(store, NOW_MS + 1000)
    store.merge(ids if first_is_expired else ids[::-1], "a walrus and a heron")
    assert texts(store.list()) == ["a walrus and a heron"]


def test_merge_of_expired_memories_is_refused(store: MemoryStore) -> None:
    ids = [store.remember(text, ttl_seconds=seconds).id for text, seconds in (("a walrus", 1), ("a heron", 2))]
    set_clock(store, NOW_MS + 1999)
    assert store.merge(ids, "both").expires_at == NOW + timedelta(seconds=2)
    store.undo()
    set_clock(store, NOW_MS + 2000)
    with pytest.raises(ConflictError, match="expired"):
        store.merge(ids, "both")
    assert sorted(texts(store.list(with_expired=True))) == ["a heron", "a walrus"]


def test_an_expired_memory_lives_again_when_its_end_is_moved(store: MemoryStore) -> None:
    id = store.remember("a walrus", ttl_seconds=1).id
    set_clock(store, NOW_MS + 5000)
    store.edit(id, expires_at=NOW + timedelta(days=1))
    assert recalled(store, "walrus") == ["a walrus"]


def test_expired_topic_is_replaced_regardless_of_trust(store: MemoryStore) -> None:
    store.remember("We use MySQL", topic="database", ttl_seconds=1)
    set_clock(store, NOW_MS + 1000)
    store.remember("We use PostgreSQL", topic="database", trust="tool")
    assert texts(store.list()) == ["We use PostgreSQL"]


def test_an_end_in_the_same_second_as_a_text_date_is_exact(store: MemoryStore) -> None:
    """ISO text with a T and text with a blank compare differently; moments do not."""
    store.remember("a walrus", expires_at="2026-09-21 14:13:21+00:00")
    store.remember("a heron", expires_at="2026-09-21T14:13:21+00:00")
    assert len(store.list()) == 2
    set_clock(store, NOW_MS + 1000)
    assert store.list() == []


def test_value_expires_after_seven_days_by_default(store: MemoryStore) -> None:
    store.kv.set("default", 1)
    store.kv.set("for ever", 2, ttl_seconds=None)
    store.kv.set("short", 3, ttl_seconds=0.5)
    entry = store.kv.entry("default")
    assert entry is not None
    assert entry.expires_at == NOW + timedelta(days=7)
    for after_ms, wanted in ((499, ["default", "for ever", "short"]), (500, ["default", "for ever"])):
        set_clock(store, NOW_MS + after_ms)
        assert [entry.key for entry in store.kv.list()] == wanted
    set_clock(store, NOW_MS + 7 * DAY_MS - 1)
    assert store.kv.get("default") == 1
    set_clock(store, NOW_MS + 7 * DAY_MS)
    assert store.kv.get("default") is None
    assert store.kv.entry("default") is None
    assert not store.kv.delete("default")
    assert [entry.key for entry in store.kv.list()] == ["for ever"]


def test_an_expired_value_begins_a_new_life_when_it_is_set_again(store: MemoryStore) -> None:
    store.kv.set("k", 1, ttl_seconds=1)
    set_clock(store, NOW_MS + 5000)
    store.kv.set("k", 2, ttl_seconds=10)
    entry = store.kv.entry("k")
    assert entry is not None
    assert (entry.value, entry.created_at) == (2, NOW + timedelta(seconds=5))


def test_maintain_removes_only_expired_values(store: MemoryStore) -> None:
    store.kv.set("gone", 1, ttl_seconds=1)
    store.kv.set("here", 2, ttl_seconds=100)
    store.remember("a walrus", ttl_seconds=1)
    set_clock(store, NOW_MS + 1000)
    assert store.maintain() == (1, 0)
    assert store.kv.get("here") == 2
    assert texts(store.list(with_expired=True)) == ["a walrus"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), -float("inf"), 1e300, 10**400])
def test_invalid_ttl_is_refused(store: MemoryStore, seconds: float) -> None:
    for write in (
        lambda: store.remember("x", ttl_seconds=seconds),
        lambda: store.kv.set("k", 1, ttl_seconds=seconds),
    ):
        with pytest.raises(InvalidInputError) as error:
            write()
        assert error.value.field == "ttl_seconds"
    assert (store.count(), store.kv.list()) == (0, [])


def test_two_ends_of_one_life_are_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="expires_at is also given"):
        store.remember("x", ttl_seconds=1, expires_at=NOW)
