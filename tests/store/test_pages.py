"""Reading all memories page by page."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore, Status
from opencode_memory.store import pages
from opencode_memory.store.pages import list_all


@pytest.fixture
def ids(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of five memories, which are three pages, the newest first."""
    monkeypatch.setattr(pages, "_PAGE", 2)
    return [store.remember(f"Walrus number {number} eats clams.").id for number in range(5)][::-1]


def test_each_memory_is_listed_once_while_others_are_written(store: MemoryStore, ids: list[str]) -> None:
    found = []
    for memory in list_all(store):
        found.append(memory.id)
        if len(found) <= 3:
            # New memories are the newest, so they move the others to later pages.
            store.remember(f"Heron number {len(found)} eats frogs.")
    assert found == ids


def test_no_memory_is_left_out_while_others_leave_the_filter(store: MemoryStore, ids: list[str]) -> None:
    found = []
    for memory in list_all(store):
        found.append(memory.id)
        store.archive(memory.id)
    assert found == ids


def test_memories_of_one_moment_are_listed_once_each(store: MemoryStore, ids: list[str]) -> None:
    assert len({memory.created_at for memory in store.list()}) == 1
    assert [memory.id for memory in list_all(store)] == ids


def test_only_memories_that_meet_the_filter_are_listed(store: MemoryStore) -> None:
    kept, put_away = (store.remember(text).id for text in ("Use pnpm here.", "The database is SQLite."))
    store.archive(put_away)
    assert [memory.id for memory in list_all(store)] == [kept]
    assert [memory.id for memory in list_all(store, status=Status.ARCHIVED)] == [put_away]
