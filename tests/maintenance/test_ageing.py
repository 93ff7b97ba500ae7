"""Ageing: old memories are archived unless they are pinned, used or repeated, and can be restored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from opencode_memory import MemoryStore, Status
from opencode_memory.maintenance.ageing import CONVERSATION_DAYS, RESOLVED_BLOCKER_DAYS, age
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)
OLD = {"blocker": RESOLVED_BLOCKER_DAYS, "conversation": CONVERSATION_DAYS}


def write(store: MemoryStore, content: str, *, days_ago: float, category: str, tags: tuple[str, ...] = ()) -> str:
    set_clock(store, NOW_MS - round(days_ago * DAY_MS))
    id: str = store.remember(content, category=category, tags=tags).id
    set_clock(store, NOW_MS)
    return id


def resolved(store: MemoryStore, *, days_ago: float, content: str = "CI cannot reach the registry") -> str:
    return write(store, content, days_ago=days_ago, category="blocker", tags=("resolved",))


def said(store: MemoryStore, *, days_ago: float, content: str = "we spoke of the registry") -> str:
    return write(store, content, days_ago=days_ago, category="conversation")


def test_resolved_blockers_age_after_90_days_and_conversations_after_180(store: MemoryStore) -> None:
    assert OLD == {"blocker": 90, "conversation": 180}
    gone = [resolved(store, days_ago=90.01), said(store, days_ago=180.01)]
    stays = [
        resolved(store, days_ago=89.99, content="the runner has no disk"),
        said(store, days_ago=179.99, content="we spoke of the runner"),
    ]
    assert age(store, at=NOW) == 2
    assert [store.get(id).status for id in gone] == [Status.ARCHIVED] * 2
    assert [store.get(id).status for id in stays] == [Status.ACTIVE] * 2
    assert age(store, at=NOW) == 0


def test_archived_memory_has_the_reason_in_its_history(store: MemoryStore) -> None:
    ids = [resolved(store, days_ago=100), said(store, days_ago=200)]
    age(store, at=NOW)
    kinds = [store.history(id)[-1].kind for id in ids]
    assert kinds == ["upkeep: resolved more than 90 days ago", "upkeep: older than 180 days"]


def test_open_blocker_does_not_age(store: MemoryStore) -> None:
    id = write(store, "CI cannot reach the registry", days_ago=1000, category="blocker")
    assert age(store, at=NOW) == 0
    assert store.get(id).status == Status.ACTIVE


def test_blocker_ages_from_the_day_of_its_resolution(store: MemoryStore) -> None:
    id = write(store, "CI cannot reach the registry", days_ago=1000, category="blocker")
    set_clock(store, NOW_MS - 89 * DAY_MS)
    store.edit(id, tags=["resolved"])
    set_clock(store, NOW_MS)
    assert age(store, at=NOW) == 0
    assert age(store, at=NOW + timedelta(days=2)) == 1


@pytest.mark.parametrize("category", ["fact", "decision", "preference", "solution", "procedure", "directive", "event"])
def test_other_categories_do_not_age(store: MemoryStore, category: str) -> None:
    id = write(store, "the port is 5128", days_ago=2000, category=category, tags=("resolved",))
    assert age(store, at=NOW) == 0
    assert store.get(id).status == Status.ACTIVE


def test_pinned_memory_does_not_age(store: MemoryStore) -> None:
    for id in (resolved(store, days_ago=1000), said(store, days_ago=1000)):
        store.pin(id)
    assert age(store, at=NOW) == 0


def test_repeated_memory_does_not_age(store: MemoryStore) -> None:
    first = resolved(store, days_ago=1000)
    assert resolved(store, days_ago=10) == first
    store.maintain()  # Uses are counted in memory and written now and then.
    assert age(store, at=NOW) == 0


def test_recently_used_memory_does_not_age(store: MemoryStore) -> None:
    id = resolved(store, days_ago=1000)
    set_clock(store, NOW_MS - 10 * DAY_MS)
    assert [hit.memory.id for hit in store.recall("registry")] == [id]
    set_clock(store, NOW_MS)
    store.maintain()  # Uses are counted in memory and written now and then.
    used_at = store.get(id).used_at
    assert used_at is not None
    assert age(store, at=NOW) == 0
    assert age(store, at=used_at + timedelta(days=91)) == 1


def test_global_and_project_memories_age(store: MemoryStore) -> None:
    set_clock(store, NOW_MS - 1000 * DAY_MS)
    for project in ("app", "shop", None):
        scope = "global" if project is None else None
        store.remember("a talk", category="conversation", project=project, scope=scope)
    set_clock(store, NOW_MS)
    assert age(store, at=NOW) == 3


def test_more_than_one_page_ages_completely(store: MemoryStore) -> None:
    set_clock(store, NOW_MS - 1000 * DAY_MS)
    store.remember_many({"content": f"talk {number}", "category": "conversation"} for number in range(1201))
    set_clock(store, NOW_MS)
    assert age(store, at=NOW) == 1201
    assert store.count(category="conversation") == 0


def test_archived_or_deleted_memory_is_not_aged(store: MemoryStore) -> None:
    archived = said(store, days_ago=1000)
    deleted = said(store, days_ago=1000, content="we spoke of the runner")
    store.archive(archived, reason="by hand")
    store.delete(deleted)
    assert age(store, at=NOW) == 0
    assert store.history(archived)[-1].kind == "archive: by hand"


def test_undo_restores_an_aged_memory(store: MemoryStore) -> None:
    id = resolved(store, days_ago=1000)
    age(store, at=NOW)
    assert store.undo(id)
    assert store.get(id).status == Status.ACTIVE


def test_one_undo_restores_all_memories_aged_together(store: MemoryStore) -> None:
    ids = [said(store, days_ago=1000, content=f"talk {number}") for number in range(3)]
    age(store, at=NOW)
    store.operations.undo(store.operations.list()[0].operation)
    assert [store.get(id).status for id in ids] == [Status.ACTIVE] * 3


@pytest.mark.parametrize("bring_back", [pytest.param("undo"), "restore"])
@pytest.mark.parametrize("category", ["blocker", "conversation"])
def test_restored_memory_is_not_archived_again(store: MemoryStore, bring_back: str, category: str) -> None:
    id = resolved(store, days_ago=1000) if category == "blocker" else said(store, days_ago=1000)
    age(store, at=NOW)
    set_clock(store, NOW_MS + SECOND_MS)
    getattr(store, bring_back)(id)
    set_clock(store, NOW_MS + DAY_MS)
    assert age(store, at=NOW + timedelta(days=1)) == 0
    assert store.get(id).status == Status.ACTIVE
