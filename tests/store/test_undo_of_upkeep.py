"""Undo and redo of changes whose memories the program has put away or superseded by itself since."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from opencode_memory import ConflictError, MemoryStore, NotFoundError, Status, Trust
from opencode_memory.embedding import BundledEmbedder
from opencode_memory.maintenance.ageing import age
from support.stores import DAY_MS, NOW_MS, set_clock, texts

OLDER = "The cache is enabled in tests"
NEWER = "Cache is enabled in tests."
LATER_MS = NOW_MS + 200 * DAY_MS
LATER = datetime.fromtimestamp(LATER_MS / 1000, UTC)


def last_operation(store: MemoryStore) -> int:
    return store.operations.list(limit=1)[0].operation


def age_all(store: MemoryStore) -> int:
    set_clock(store, LATER_MS)
    return age(store, at=LATER)


def statuses(store: MemoryStore) -> dict[str, Status]:
    return {memory.content: memory.status for memory in store.list(status=[*Status])}


def test_undo_of_a_creation_takes_back_that_the_memory_aged(store: MemoryStore) -> None:
    store.remember_many([{"content": text, "category": "conversation"} for text in ("one", "two")])
    operation = last_operation(store)
    assert age_all(store) == 2
    undone = store.operations.undo(operation)
    assert sorted(change.kind for change in undone) == ["create", "create"] + ["upkeep: older than 180 days"] * 2
    assert all(change.undone for change in undone)
    assert statuses(store) == {}


def test_redo_brings_back_the_state_before_the_undo(store: MemoryStore) -> None:
    id = store.remember("one", category="conversation").id
    operation = last_operation(store)
    age_all(store)
    for _ in range(2):
        store.operations.undo(operation)
        assert statuses(store) == {}
        store.operations.redo(operation)
        assert statuses(store) == {"one": Status.ARCHIVED}
    # The archive is the last change again, so that an undo of the memory brings it back.
    assert [change.kind for change in store.undo(id)] == ["upkeep: older than 180 days"]
    assert statuses(store) == {"one": Status.ACTIVE}
    assert age(store, at=LATER + timedelta(days=200)) == 0


def test_undo_of_the_last_operation_is_not_that_of_upkeep(store: MemoryStore) -> None:
    store.remember("one", category="conversation")
    last = store.remember("two", category="conversation").id
    age_all(store)
    assert {change.id for change in store.undo()} == {last}
    assert statuses(store) == {"one": Status.ARCHIVED}


def test_operations_of_a_writer_leave_out_upkeep(store: MemoryStore) -> None:
    store.remember("one", category="conversation")
    said = last_operation(store)
    age_all(store)
    upkeep = last_operation(store)
    assert [one.operation for one in store.operations.list(actor=Trust.USER)] == [said]
    assert [one.operation for one in store.operations.list(actor=Trust.USER, undone=False)] == [said]
    assert [one.operation for one in store.operations.list()] == [upkeep, said]
    store.operations.undo(upkeep)
    assert [one.operation for one in store.operations.list(actor=Trust.USER, undone=True)] == [upkeep]


def test_undo_leaves_memories_of_the_same_upkeep_alone(store: MemoryStore) -> None:
    id = store.remember("one", category="conversation").id
    store.remember("two", category="conversation")
    age_all(store)
    upkeep = last_operation(store)
    store.undo(id, operation=store.history(id)[0].operation)
    assert statuses(store) == {"two": Status.ARCHIVED}
    assert len(store.operations.undo(upkeep)) == 1
    assert statuses(store) == {"two": Status.ACTIVE}


def test_redo_takes_back_that_the_memory_aged_after_the_undo(store: MemoryStore) -> None:
    id = store.remember("one", category="conversation").id
    store.edit(id, content="two")
    edit = last_operation(store)
    store.operations.undo(edit)
    age_all(store)
    upkeep = last_operation(store)
    store.operations.redo(edit)
    assert statuses(store) == {"two": Status.ACTIVE}
    store.operations.redo(upkeep)
    assert statuses(store) == {"one": Status.ARCHIVED}


def test_archive_by_a_person_stops_the_undo_of_an_earlier_change(store: MemoryStore) -> None:
    id = store.remember("one").id
    operation = last_operation(store)
    store.archive(id, reason="upkeep: older than 180 days")
    with pytest.raises(ConflictError, match="changed again since"):
        store.operations.undo(operation)
    assert statuses(store) == {"one": Status.ARCHIVED}


def test_change_after_the_upkeep_stops_the_undo(store: MemoryStore) -> None:
    id = store.remember("one", category="conversation").id
    operation = last_operation(store)
    age_all(store)
    store.pin(id)
    with pytest.raises(ConflictError, match="pin"):
        store.operations.undo(operation)


def test_upkeep_of_earlier_versions_does_not_stop_an_undo(store: MemoryStore) -> None:
    id = store.remember("one", category="conversation").id
    store.archive(id, reason="older than 180 days")
    store.operations.undo(store.history(id)[0].operation)
    assert statuses(store) == {}


def test_topic_that_another_memory_took_meanwhile_does_not_stop_the_undo(store: MemoryStore) -> None:
    store.remember("one", category="conversation", topic="t")
    operation = last_operation(store)
    age_all(store)
    store.remember("two", topic="t")
    store.operations.undo(operation)
    assert statuses(store) == {"two": Status.ACTIVE}


@pytest.fixture
def compared(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    """Return a store in which the comparison of vectors superseded a memory by itself."""
    store = open_store(embedder=BundledEmbedder())
    store.remember(OLDER)
    store.remember(NEWER)
    store.indexes.embed_pending()
    assert statuses(store) == {NEWER: Status.ACTIVE, OLDER: Status.SUPERSEDED}
    return store


def test_undo_of_the_replaced_statement_is_not_stopped(compared: MemoryStore) -> None:
    upkeep, newer, older = (one.operation for one in compared.operations.list())
    assert {change.operation for change in compared.operations.undo(older)} == {upkeep, older}
    assert texts(compared.list(status=[*Status])) == [NEWER]
    compared.operations.redo(older)
    assert Status.SUPERSEDED in statuses(compared).values()
    with pytest.raises(NotFoundError):
        compared.operations.redo(newer)


def test_undo_of_the_replacing_statement_brings_the_older_one_back(compared: MemoryStore) -> None:
    _, newer, _ = (one.operation for one in compared.operations.list())
    before = statuses(compared)
    for _ in range(2):
        compared.operations.undo(newer)
        assert statuses(compared) == {OLDER: Status.ACTIVE}
        compared.operations.redo(newer)
        assert statuses(compared) == before


def test_archive_of_a_replaced_memory_stays_when_the_replacing_one_is_undone(compared: MemoryStore) -> None:
    [newer] = compared.list()
    [older] = compared.list(status="superseded")
    compared.archive(older.id)
    compared.undo(newer.id)
    assert statuses(compared) == {OLDER: Status.ARCHIVED}
    assert compared.get(older.id).superseded_by is None


def test_undo_of_an_operation_leaves_what_a_later_edit_of_a_person_replaced(store: MemoryStore) -> None:
    id = store.remember("We use npm.", trust="agent").id
    store.remember("We use npm.", topic="manager")
    operation = last_operation(store)
    together = store.in_one_operation()
    together.edit(id, content="Use pnpm instead of npm.")
    together.archive(id)
    store.operations.undo(operation)
    assert store.get(id).status is Status.ARCHIVED


def test_comparison_is_not_the_last_change_of_the_writer_in_whose_process_it_ran(compared: MemoryStore) -> None:
    upkeep, newer, older = (one.operation for one in compared.operations.list())
    assert [one.operation for one in compared.operations.list(actor=Trust.USER)] == [newer, older]
    compared.operations.undo(older)
    assert [one.operation for one in compared.operations.list(actor=Trust.USER, undone=True)] == [older]
    assert {one.operation for one in compared.operations.list(undone=True)} == {upkeep, older}


def test_repetition_that_replaces_another_statement_is_an_action_of_its_writer(store: MemoryStore) -> None:
    older = store.remember("We use npm.").id
    newer = store.remember("Use pnpm instead of npm.").id
    store.restore(older)
    restore = last_operation(store)
    assert store.remember("Use pnpm instead of npm.").replaced == (older,)
    assert store.operations.list(limit=1, actor=Trust.USER)[0].operation > restore
    with pytest.raises(ConflictError, match="changed again since"):
        store.operations.undo(restore)
    assert {change.kind for change in store.undo(newer)} == {"merge", "supersede"}
    assert store.get(older).status is Status.ACTIVE
    assert store.get(newer).status is Status.ACTIVE
    store.operations.undo(restore)
    assert store.get(older).status is Status.SUPERSEDED


def test_replacement_by_a_person_stays_one_after_the_replacing_memory_was_purged(store: MemoryStore) -> None:
    older = store.remember("We use npm.").id
    store.pin(older)
    pin = last_operation(store)
    newer = store.remember("Use pnpm instead of npm.")
    assert newer.replaced == (older,)
    store.purge(newer.id)
    with pytest.raises(ConflictError, match="supersede"):
        store.operations.undo(pin)
    assert statuses(store) == {"We use npm.": Status.SUPERSEDED}
