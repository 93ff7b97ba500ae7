"""Undo of every operation, and the history with its writers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter

import pytest

from opencode_memory import ConflictError, InvalidInputError, Memory, MemoryStore, NotFoundError, RememberStatus, Trust
from opencode_memory.exchange import export_memories, import_memories
from support.stores import NOW_MS, recalled, set_clock, texts


def _what_people_see(memory: Memory) -> dict[str, object]:
    """Everything but the key, which is a new one when a text comes back, and the use counters."""
    hidden = ("key", "uses", "used_at")
    return {name: getattr(memory, name) for name in Memory.__slots__ if name not in hidden}


def _everything(store: MemoryStore) -> list[dict[str, object]]:
    statuses = ("active", "candidate", "superseded", "archived")
    found = store.list(project="*", status=statuses, with_expired=True)
    return [_what_people_see(memory) for memory in sorted(found, key=lambda memory: memory.id)]


_CHANGES: dict[str, Callable[[MemoryStore, str], object]] = {
    "edit": lambda store, id: store.edit(id, content="an azure heron", tags=["new"], topic=None),
    "move": lambda store, id: store.edit(id, project="third"),
    "archive": lambda store, id: store.archive(id),
    "delete": lambda store, id: store.delete(id),
    "pin": lambda store, id: store.pin(id),
    "unpin": lambda store, id: store.unpin(id),
    "merge": lambda store, id: store.remember("a crimson walrus", tags=["merged"], metadata={"b": 2}),
    "update": lambda store, id: store.remember("an azure heron", topic="bird"),
    "remember": lambda store, id: store.remember("something new"),
    "kept": lambda store, id: store.remember("an azure heron", topic="bird", trust="tool"),
    "several": lambda store, id: store.remember_many([{"content": "one"}, {"content": "two"}, {"content": "one"}]),
    "delete several": lambda store, id: store.delete([memory.id for memory in store.list()]),
    "project merge": lambda store, id: store.projects.merge("app", "other"),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_undo_restores_all_fields(store: MemoryStore, name: str) -> None:
    id = store.remember("a crimson walrus", topic="bird", tags=["old"], metadata={"a": 1}).id
    store.remember("beside it")
    store.remember("in another project", project="other", topic="bird")
    if name == "unpin":
        store.pin(id)
    before = _everything(store)
    _CHANGES[name](store, id)
    assert _everything(store) != before
    undone = store.undo()
    assert undone
    assert all(change.undone for change in undone)
    assert _everything(store) == before
    assert recalled(store, "crimson walrus") == ["a crimson walrus"]
    assert store.indexes.verify().ok


def test_undo_takes_back_one_operation_after_the_other(store: MemoryStore) -> None:
    id = store.remember("version 1").id
    for number in (2, 3):
        store.edit(id, content=f"version {number}")
    seen = []
    for _ in range(3):
        store.undo()
        seen.append(texts(store.list()))
    assert seen == [["version 2"], ["version 1"], []]
    with pytest.raises(NotFoundError):
        store.undo()


def test_an_undo_of_one_memory_leaves_later_changes_of_others_alone(store: MemoryStore) -> None:
    one, two = store.remember("one").id, store.remember("two").id
    store.edit(one, content="one changed")
    store.edit(two, content="two changed")
    [change] = store.undo(one)
    assert (change.id, change.kind) == (one, "edit")
    assert sorted(texts(store.list())) == ["one", "two changed"]


def test_an_undo_never_overwrites_a_later_change(store: MemoryStore) -> None:
    """The last operation covers two memories, one of which was changed again by hand."""
    one, two = store.remember("one").id, store.remember("two").id
    store.archive([one, two])
    store.restore(one)
    store.undo()  # of the restore
    store.edit(one, content="one changed")
    store.undo(one)
    store.undo()  # of the archive, which nothing stands on any more
    assert sorted(texts(store.list())) == ["one", "two"]


def test_a_topic_that_is_held_again_is_not_taken_back(store: MemoryStore) -> None:
    id = store.remember("old", topic="t").id
    store.delete(id)
    holder = store.remember("new", topic="t").id
    with pytest.raises(ConflictError, match=holder):
        store.undo(id)
    assert texts(store.list()) == ["new"]


def test_a_deleted_memory_comes_back_with_its_links_and_its_history(store: MemoryStore) -> None:
    id, other = store.remember("a walrus", entities=["e"]).id, store.remember("a heron").id
    store.link(id, other)
    store.edit(id, tags=["t"])
    store.delete(id)
    assert store.related(other) == []
    store.undo()
    assert [found.memory.id for found in store.related(other)] == [id]
    assert texts(store.list(entity="e")) == texts(store.list(tag="t")) == ["a walrus"]
    assert [entry.kind for entry in store.history(id)] == ["create", "edit", "delete", "undo"]


def test_a_deleted_memory_that_comes_back_needs_no_new_embedding(open_store) -> None:
    store = open_store()
    id = store.remember("a walrus").id
    store.indexes.embed_pending()
    store.delete(id)
    store.undo()
    embedder = store._queue.choice.wanted()
    embedder.embedded.clear()
    assert store.indexes.embed_pending() == 1
    assert embedder.embedded == []


def test_undo_reaches_a_memory_of_a_project_that_was_merged_away(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    store.remember("elsewhere", project="other")
    store.projects.merge("app", "other")
    assert store.get(id).project == "other"
    store.undo()
    assert store.get(id).project == "app"
    assert {project.name for project in store.projects.list()} == {"app", "other"}


def test_history_records_actor_change_and_time(open_store) -> None:
    person, agent = open_store(), open_store(actor="agent")
    id = person.remember("We use MySQL", topic="database").id
    set_clock(agent, NOW_MS + 1000)
    agent.edit(id, content="We use PostgreSQL")
    set_clock(person, NOW_MS + 2000)
    person.archive(id, reason="no longer true")
    entries = person.history(id)
    assert [(entry.kind, entry.actor) for entry in entries] == [
        ("create", Trust.USER),
        ("edit", Trust.AGENT),
        ("archive: no longer true", Trust.USER),
    ]
    assert [entry.at for entry in entries] == [
        datetime.fromtimestamp((NOW_MS + milliseconds) / 1000, UTC) for milliseconds in (0, 1000, 2000)
    ]
    create, edit, archive = entries
    assert create.before is None
    assert create.after == edit.before
    assert edit.after == archive.before
    assert archive.after == person.get(id)


def test_changes_made_together_share_their_operation(store: MemoryStore) -> None:
    ids = [result.id for result in store.remember_many([{"content": "one"}, {"content": "two"}])]
    assert len({store.history(id)[0].operation for id in ids}) == 1
    store.archive(ids)
    assert len({store.history(id)[1].operation for id in ids}) == 1
    assert store.history(ids[0])[0].operation != store.history(ids[0])[1].operation


def test_undo_is_recorded_and_marks_the_undone_change(store: MemoryStore) -> None:
    id = store.remember("one").id
    store.edit(id, content="two")
    store.undo()
    assert [(entry.kind, entry.undone) for entry in store.history(id)] == [
        ("create", False),
        ("edit", True),
        ("undo", False),
    ]


def test_a_deleted_memory_has_a_history(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    store.delete(id)
    last = store.history(id)[-1]
    assert (last.kind, last.before.content, last.after) == ("delete", "a walrus", None)


def test_undo_without_a_change_raises_not_found(store: MemoryStore) -> None:
    for arguments in ((), ("00000000-0000-7000-8000-000000000000",)):
        with pytest.raises(NotFoundError):
            store.undo(*arguments)


def test_values_and_embeddings_are_no_operations(store: MemoryStore) -> None:
    store.remember("a walrus")
    store.kv.set("k", 1)
    store.indexes.embed_pending()
    [change] = store.undo()
    assert change.kind == "create"
    assert store.kv.get("k") == 1


def test_undone_memory_can_be_written_again(store: MemoryStore) -> None:
    store.remember("a walrus")
    store.undo()
    assert store.remember("a walrus").status is RememberStatus.STORED


LINT = "Always run `make lint` before you commit."
NO_LINT = "You no longer need to run `make lint` before you commit."


@pytest.mark.parametrize("change", ["pin", "tag", "redo"])
def test_replaced_memory_that_was_changed_since_comes_back_with_its_change(store: MemoryStore, change: str) -> None:
    old, new = (store.remember(text, category="convention").id for text in (LINT, NO_LINT))
    match change:
        case "pin":
            store.pin(old)
        case "tag":
            store.edit(old, tags=["ci"])
        case "redo":
            store.undo(new)
            [operation] = store.operations.list(undone=True)
            store.operations.redo(operation.operation)
    store.undo(new)
    [memory] = store.list()
    assert (memory.id, memory.superseded_by) == (old, None)
    assert (memory.pinned, memory.tags) == (change == "pin", ("ci",) if change == "tag" else ())
    [operation] = store.operations.list(undone=True, limit=1)
    store.operations.redo(operation.operation)
    assert [memory.id for memory in store.list()] == [new]


@pytest.mark.parametrize("is_pinned", [False, True])
def test_topic_that_an_import_took_comes_back(store: MemoryStore, is_pinned: bool) -> None:
    old = store.remember("an azure heron", topic="animal", trust="imported").id
    file = io.StringIO()
    export_memories(store, file)
    data = json.loads(file.getvalue())
    new = f"{old[:-4]}ffff"
    data["memories"][0] |= {"id": new, "content": "a crimson walrus", "updated_at": NOW_MS + 1}
    data |= {"history": [], "counts": data["counts"] | {"history": 0}}
    import_memories(store, io.StringIO(json.dumps(data)))
    assert texts(store.list()) == ["a crimson walrus"]
    if is_pinned:
        store.pin(old)
    store.undo(new)
    [memory] = store.list()
    assert (memory.id, memory.topic, memory.pinned) == (old, "animal", is_pinned)


def test_change_that_is_not_the_expected_one_is_not_undone(store: MemoryStore) -> None:
    id_ = store.remember("a crimson walrus").id
    [created] = store.history(id_)
    store.pin(id_)
    with pytest.raises(ConflictError, match="changed again since"):
        store.undo(id_, operation=created.operation)
    assert store.get(id_).pinned
    store.undo(id_)
    store.undo(id_, operation=created.operation)
    assert store.list() == []
    with pytest.raises(InvalidInputError, match="operation"):
        store.undo(operation=created.operation)


@pytest.mark.parametrize("changes", [("edit", "edit"), ("edit", "archive"), ("pin", "edit", "tag")])
def test_undone_changes_of_one_memory_are_redone_one_after_another(
    store: MemoryStore, changes: tuple[str, ...]
) -> None:
    id_ = store.remember("a crimson walrus").id
    for number, change in enumerate(changes):
        match change:
            case "edit":
                store.edit(id_, content=f"an azure heron {number}")
            case "archive":
                store.archive(id_)
            case "pin":
                store.pin(id_)
            case "tag":
                store.edit(id_, tags=["bird"])
    expected = _everything(store)
    for _ in range(len(changes) + 1):
        store.undo()
    assert _everything(store) == []
    for _ in range(len(changes) + 1):
        [operation] = store.operations.list(undone=True, limit=1)
        store.operations.redo(operation.operation)
    assert _everything(store) == expected


def test_change_that_was_undone_before_another_one_is_not_redone(store: MemoryStore) -> None:
    id_ = store.remember("a crimson walrus").id
    store.edit(id_, content="an azure heron")
    [operation, _] = store.operations.list()
    store.undo()
    store.edit(id_, content="a violet toad")
    with pytest.raises(ConflictError, match="changed since"):
        store.operations.redo(operation.operation)


def test_redo_of_one_memory_leaves_others_that_were_undone_later(store: MemoryStore) -> None:
    first, second = (one.id for one in store.remember_many([{"content": "a heron"}, {"content": "a walrus"}]))
    [operation] = store.operations.list()
    for id in (first, second):
        store.undo(id, operation=operation.operation)
    assert {change.id for change in store.operations.redo(operation.operation, id=first)} == {first}
    assert texts(store.list()) == ["a heron"]
    with pytest.raises(NotFoundError):
        store.operations.redo(operation.operation, id=first)


def test_writes_of_one_operation_are_undone_and_redone_together(store: MemoryStore) -> None:
    kept = store.remember("a crimson walrus").id
    together = store.in_one_operation()
    assert together.operation is None
    together.for_project("other").remember("a grey heron")
    # A bound store has the same operation.
    assert together.operation == store.operations.list()[0].operation
    store.remember("in between")
    together.edit(kept, content="an azure walrus")
    together.in_one_operation().archive(kept)
    [operation] = [found for found in store.operations.list() if found.size == 3]
    assert (operation.operation, store.operation) == (together.operation, None)
    store.undo()
    assert set(texts(store.list(project="*"))) == {"in between", "a crimson walrus"}
    store.operations.redo(operation.operation)
    assert set(texts(store.list(project="*"))) == {"in between", "a grey heron"}


def test_one_undo_takes_an_import_of_many_batches_back(store: MemoryStore, open_store, tmp_path) -> None:
    other = open_store(tmp_path / "other")
    other.remember_many([{"content": f"note {number}"} for number in range(2500)], batch_size=2500)
    exported = io.StringIO()
    export_memories(other, exported)
    store.remember("a crimson walrus")
    import_memories(store, io.StringIO(exported.getvalue()))
    assert store.count(project="*") == 2501
    store.undo()
    assert texts(store.list(project="*")) == ["a crimson walrus"]


def test_redo_of_a_large_operation_takes_about_as_long_as_its_undo(store: MemoryStore) -> None:
    ids = [result.id for result in store.remember_many([{"content": f"note {number}"} for number in range(4000)])]
    store.delete(ids)
    started = perf_counter()
    store.undo()
    undone = perf_counter()
    store.operations.redo(store.operations.list(undone=True, limit=1)[0].operation)
    assert perf_counter() - undone < 10 * (undone - started)
    assert store.list() == []
