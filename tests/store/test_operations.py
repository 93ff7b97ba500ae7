"""The log of operations, undo of one of them, and redo."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from opencode_memory import ConflictError, InvalidInputError, MemoryStore, NotFoundError, Trust
from support.stores import NOW_MS, recalled, set_clock


def numbers(store: MemoryStore, **wanted: object) -> list[int]:
    return [one.operation for one in store.operations.list(**wanted)]


def test_operations_name_time_writer_kinds_and_texts(store: MemoryStore) -> None:
    set_clock(store, NOW_MS)
    first = store.remember("a crimson walrus").id
    store.acting_as(Trust.AGENT).remember_many([{"content": "one"}, {"content": "two"}])
    store.archive(first)
    archived, stored, created = store.operations.list()
    assert [one.actor for one in (archived, stored, created)] == [Trust.USER, Trust.AGENT, Trust.USER]
    assert (archived.kinds, stored.kinds, stored.size) == ((("archive", 1),), (("create", 2),), 2)
    assert created.at == datetime.fromtimestamp(NOW_MS / 1000, UTC)
    [change] = archived.changes
    assert change.before is not None
    assert change.after is not None
    assert (change.before.status, change.after.status) == ("active", "archived")
    assert created.changes[0].before is None


def test_operations_are_chosen_by_writer_project_state_and_number(store: MemoryStore) -> None:
    here = store.remember("here", project="app").id
    store.remember("there", project="other")
    store.for_project(None).remember("all")
    store.acting_as(Trust.EXTRACTED).remember("learned", project="app")
    assert len(numbers(store)) == 4
    mine = store.operations.list(project="app", actor=Trust.USER)
    assert [one.changes[0].after.content for one in mine if one.changes[0].after] == ["all", "here"]
    store.undo(here)
    assert [one.changes[0].id for one in store.operations.list(undone=True)] == [here]
    assert here not in [one.changes[0].id for one in store.operations.list(undone=False)]
    newest = numbers(store)[0]
    assert newest not in numbers(store, before=newest)
    assert len(numbers(store, limit=2)) == 2


def test_deleted_memory_still_belongs_to_its_project(store: MemoryStore) -> None:
    id = store.remember("gone", project="app").id
    store.delete(id)
    assert len(numbers(store, project="app")) == 2
    assert numbers(store, project="other") == []


def test_large_operation_is_shown_in_part(store: MemoryStore) -> None:
    store.remember_many([{"content": f"number {n}"} for n in range(60)])
    [one] = store.operations.list()
    assert (one.size, len(one.changes)) == (60, 10)


def test_operation_of_the_past_is_undone_alone(store: MemoryStore) -> None:
    store.remember_many([{"content": "one"}, {"content": "two"}])
    [old] = numbers(store)
    store.remember("three")
    assert len(store.operations.undo(old)) == 2
    assert [memory.content for memory in store.list()] == ["three"]
    with pytest.raises(NotFoundError, match="operation to undo"):
        store.operations.undo(old)


@pytest.mark.parametrize("change", ["archive", "delete", "edit", "pin"])
def test_redo_brings_back_what_undo_took_and_both_can_be_repeated(store: MemoryStore, change: str) -> None:
    id = store.remember("a crimson walrus").id
    changes = {
        "archive": lambda: store.archive(id),
        "delete": lambda: store.delete(id),
        "edit": lambda: store.edit(id, content="an azure heron"),
        "pin": lambda: store.pin(id),
    }
    changes[change]()
    after = [(memory.content, memory.status, memory.pinned) for memory in store.list(status=("active", "archived"))]
    number = numbers(store)[0]
    for _ in range(3):
        store.operations.undo(number)
        assert [memory.content for memory in store.list()] == ["a crimson walrus"]
        store.operations.redo(number)
        now = [(memory.content, memory.status, memory.pinned) for memory in store.list(status=("active", "archived"))]
        assert now == after
    wanted = [] if change in {"archive", "delete"} else [memory[0] for memory in now]
    assert recalled(store, "heron" if change == "edit" else "crimson walrus") == wanted
    assert store.indexes.verify().ok


def test_redo_of_a_creation_and_of_several(store: MemoryStore) -> None:
    store.remember_many([{"content": "one", "topic": "a"}, {"content": "two"}])
    [number] = numbers(store)
    store.operations.undo(number)
    assert store.list() == []
    assert len(store.operations.redo(number)) == 2
    assert sorted(memory.content for memory in store.list()) == ["one", "two"]
    # Undo without a number finds it again.
    assert {change.operation for change in store.undo()} == {number}


def test_what_was_undone_by_itself_stays_undone_when_the_rest_is_redone(store: MemoryStore) -> None:
    one, two = store.remember_many([{"content": "one"}, {"content": "two"}])
    [number] = numbers(store)
    store.undo(one.id)
    store.operations.undo(number)
    assert [change.id for change in store.operations.redo(number)] == [two.id]
    assert [memory.content for memory in store.list()] == ["two"]
    assert [change.id for change in store.operations.redo(number)] == [one.id]
    with pytest.raises(NotFoundError, match="undone operation"):
        store.operations.redo(number)


def test_redo_is_refused_after_a_later_change(store: MemoryStore) -> None:
    id = store.remember("a crimson walrus").id
    store.edit(id, content="an azure heron")
    number = numbers(store)[0]
    store.operations.undo(number)
    store.pin(id)
    with pytest.raises(ConflictError, match="changed since"):
        store.operations.redo(number)
    assert store.get(id).content == "a crimson walrus"


def test_redo_is_all_or_nothing(store: MemoryStore) -> None:
    store.remember_many([{"content": "one"}, {"content": "two"}])
    ids = [memory.id for memory in store.list()]
    store.archive(ids)
    number = numbers(store)[0]
    store.operations.undo(number)
    store.pin(ids[0])
    with pytest.raises(ConflictError):
        store.operations.redo(number)
    assert {memory.status for memory in store.list()} == {"active"}


def test_what_was_not_undone_is_not_redone(store: MemoryStore) -> None:
    store.remember("a crimson walrus")
    with pytest.raises(NotFoundError, match="undone operation"):
        store.operations.redo(numbers(store)[0])
    with pytest.raises(NotFoundError):
        store.operations.redo(10**9)


@pytest.mark.parametrize("limit", [0, 1_001, -1])
def test_limit_is_checked(store: MemoryStore, limit: int) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        store.operations.list(limit=limit)


def test_history_names_the_writer_of_the_view(store: MemoryStore) -> None:
    id = store.acting_as(Trust.AGENT).remember("by an agent").id
    store.pin(id)
    assert [change.actor for change in store.history(id)] == [Trust.AGENT, Trust.USER]


def test_texts_of_other_projects_in_the_same_operation_are_not_shown(store: MemoryStore) -> None:
    together = store.in_one_operation()
    there = together.remember("there", project="other").id
    together.remember_many([{"content": "here", "project": "app"}, {"content": "everywhere", "scope": "global"}])
    together.archive(there, reason="walrus")
    [one] = store.operations.list(project="app")
    assert [change.after.content for change in one.changes if change.after] == ["here", "everywhere"]
    assert one.kinds == (("create", 3), ("archive", 1))
    [one] = store.operations.list(project="other")
    assert [change.after.content for change in one.changes if change.after] == ["there", "everywhere", "there"]
    assert one.kinds == (("create", 3), ("archive: walrus", 1))


def test_operation_with_many_changes_of_other_projects_is_found(store: MemoryStore) -> None:
    texts = [{"content": f"number {n}", "project": "other"} for n in range(60)]
    store.remember_many([*texts, {"content": "here", "project": "app"}])
    [one] = store.operations.list(project="app")
    assert (one.size, [change.after.content for change in one.changes if change.after]) == (61, ["here"])
    assert numbers(store, project="third") == []


@pytest.mark.parametrize("project", ["app", "other"])
def test_moved_memory_belongs_to_both_projects(store: MemoryStore, project: str) -> None:
    id = store.remember("a crimson walrus", project="app").id
    store.edit(id, project="other")
    moved, created = numbers(store)
    store.edit(id, content="an azure heron")
    edited = numbers(store)[0]
    assert numbers(store, project=project) == ([moved, created] if project == "app" else [edited, moved])
