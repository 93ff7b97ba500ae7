"""Changing what is stored: edit, move, archive, restore, delete, pin, and the ids by which memories are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from opencode_memory import (
    Category,
    ConflictError,
    InvalidInputError,
    MemoryStore,
    NotFoundError,
    ScopeKind,
    Status,
    Trust,
)
from support.stores import NOW_MS, recalled, set_clock, texts

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


def test_edit_changes_only_the_named_fields(store: MemoryStore) -> None:
    id = store.remember("the deploy needs a VPN", tags=["ops"], topic="deploy", metadata={"a": 1}, pinned=True).id
    before = store.get(id)
    set_clock(store, NOW_MS + 1000)
    after = store.edit(id, category="decision", entities=["!7"])
    assert (after.category, after.entities) == (Category.DECISION, ("!7",))
    assert after.updated_at == NOW + timedelta(seconds=1)
    kept = ("id", "content", "topic", "tags", "metadata", "pinned", "time", "created_at", "trust", "project", "status")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert store.get(id) == after


def test_every_field_that_can_be_edited_is_edited(store: MemoryStore) -> None:
    id = store.remember("before", topic="old", tags=["a"], metadata={"a": 1}, ttl_seconds=60).id
    after = store.edit(
        id,
        content="after",
        category="idea",
        topic="new",
        tags=["b"],
        entities=["e"],
        time="2026-01-01T00:00+00:00",
        expires_at=None,
        metadata={"b": 2},
        trust="agent",
        verified=True,
    )
    assert (after.content, after.category, after.topic) == ("after", Category.IDEA, "new")
    assert (after.tags, after.entities, after.metadata) == (("b",), ("e",), {"b": 2})
    assert (after.time, after.expires_at) == (datetime(2026, 1, 1, tzinfo=UTC), None)
    assert (after.trust, after.verified_at) == (Trust.AGENT, NOW)


def test_fields_can_be_emptied(store: MemoryStore) -> None:
    id = store.remember("full", topic="t", tags=["a"], entities=["e"], metadata={"a": 1}, ttl_seconds=60).id
    after = store.edit(id, topic=None, tags=[], entities=[], metadata={}, expires_at=None)
    assert (after.topic, after.tags, after.entities, after.metadata, after.expires_at) == (None, (), (), {}, None)
    assert store.list(entity="e") == store.list(tag="a") == []


def test_an_edited_text_is_found_by_its_new_words_only(store: MemoryStore) -> None:
    id = store.remember("the crimson walrus").id
    store.edit(id, content="the azure heron")
    assert recalled(store, "walrus") == []
    assert recalled(store, "heron") == ["the azure heron"]


def test_edited_text_is_found_by_its_new_words_only(store: MemoryStore) -> None:
    id = store.remember("the crimson walrus").id
    store.indexes.catch_up()
    store.edit(id, content="the azure heron")
    for _ in range(2):
        assert recalled(store, "walrus") == []
        assert recalled(store, "heron") == ["the azure heron"]
        store.indexes.catch_up()


def test_a_new_tag_and_a_new_topic_are_found_as_words(store: MemoryStore) -> None:
    id = store.remember("nothing to see").id
    store.edit(id, tags=["walrus"], topic="heron")
    assert recalled(store, "walrus") == recalled(store, "heron") == ["nothing to see"]


def test_edit_without_a_change_leaves_no_history(store: MemoryStore) -> None:
    id = store.remember("same", tags=["a"]).id
    store.edit(id, content="same", tags=["a"])
    assert [entry.kind for entry in store.history(id)] == ["create"]


def test_an_edit_without_a_change_is_refused(store: MemoryStore) -> None:
    id = store.remember("same").id
    with pytest.raises(InvalidInputError, match="nothing to change"):
        store.edit(id)


def test_an_edit_cannot_take_the_topic_of_another_memory(store: MemoryStore) -> None:
    store.remember("first", topic="taken")
    id = store.remember("second").id
    with pytest.raises(ConflictError, match="taken"):
        store.edit(id, topic="taken", content="changed")
    assert store.get(id).content == "second"


def test_a_memory_moves_to_another_project_and_to_global(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    assert store.edit(id, project="other").project == "other"
    assert recalled(store, "walrus") == []
    assert recalled(store, "walrus", project="other") == ["a walrus"]
    moved = store.edit(id, scope="global")
    assert (moved.scope, moved.project) == (ScopeKind.GLOBAL, None)
    assert recalled(store, "walrus") == ["a walrus"]
    assert store.edit(id, scope="project").project == "app"


def test_an_archived_memory_is_out_of_sight_until_it_is_restored(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    [archived] = store.archive(id, reason="it moved out")
    assert archived.status is Status.ARCHIVED
    assert recalled(store, "walrus") == texts(store.list()) == []
    assert recalled(store, "walrus", status="archived") == texts(store.list(status="archived")) == ["a walrus"]
    assert "it moved out" in store.history(id)[-1].kind
    assert store.get(id).status is Status.ARCHIVED
    [restored] = store.restore(id)
    assert restored.status is Status.ACTIVE
    assert recalled(store, "walrus") == ["a walrus"]


def test_an_archived_topic_is_free_and_cannot_be_restored_over_its_new_holder(store: MemoryStore) -> None:
    old = store.remember("old", topic="t")
    store.archive(old.id)
    new = store.remember("new", topic="t")
    assert new.id != old.id
    with pytest.raises(ConflictError, match=new.id):
        store.restore(old.id)


def test_a_deleted_memory_is_gone_from_every_answer(store: MemoryStore) -> None:
    keep, gone = store.remember("walrus one").id, store.remember("walrus two", entities=["e"], tags=["t"]).id
    store.link(keep, gone)
    assert store.delete(gone) == [gone]
    assert recalled(store, "walrus two") == texts(store.list()) == ["walrus one"]
    assert store.list(entity="e") == store.list(tag="t") == store.related(keep) == []
    with pytest.raises(NotFoundError) as error:
        store.get(gone)
    assert error.value.id == gone
    assert store.count() == 1


def test_deleting_several_deletes_all_or_none(store: MemoryStore) -> None:
    id = store.remember("stays").id
    with pytest.raises(NotFoundError):
        store.delete([id, "00000000-0000-7000-8000-000000000000"])
    assert texts(store.list()) == ["stays"]


@pytest.mark.parametrize("method", ["archive", "restore", "delete", "pin", "unpin", "purge"])
def test_an_unknown_id_is_named(store: MemoryStore, method: str) -> None:
    unknown = "00000000-0000-7000-8000-000000000000"
    with pytest.raises(NotFoundError, match=unknown) as error:
        getattr(store, method)(unknown)
    assert error.value.id == unknown


@pytest.mark.parametrize("method", ["archive", "restore", "delete", "pin", "unpin", "purge"])
def test_operations_on_no_ids_do_nothing(store: MemoryStore, method: str) -> None:
    store.remember("stays")
    getattr(store, method)([])
    assert texts(store.list()) == ["stays"]


def test_the_same_id_twice_is_one_memory(store: MemoryStore) -> None:
    id = store.remember("once").id
    assert store.delete([id, id[:8], id.upper()]) == [id]


def test_a_pin_stays_until_it_is_taken_off(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    assert store.pin(id)[0].pinned
    store.edit(id, content="another walrus")
    assert store.get(id).pinned
    assert not store.unpin(id)[0].pinned


def test_a_pin_survives_an_update_of_the_topic(store: MemoryStore) -> None:
    id = store.remember("old", topic="t", pinned=True).id
    store.remember("new", topic="t")
    assert store.get(id).pinned


def test_pin_breaks_ties_and_does_not_bury_better_hits(store: MemoryStore) -> None:
    plain, pinned = store.remember("walrus north").id, store.remember("walrus south").id
    assert recalled(store, "walrus")[0] == "walrus south"  # the newer one of two equals
    store.pin(plain)
    assert recalled(store, "walrus")[0] == "walrus north"
    store.unpin(plain)
    store.pin(pinned)
    store.remember("the walrus colony of the northern bay")
    assert recalled(store, "northern bay colony")[0] == "the walrus colony of the northern bay"


def test_a_memory_is_named_by_the_beginning_or_the_end_of_its_id(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    for part in (id, id[:8], id[-8:], id[-6:], id.upper(), f" {id} "):
        assert store.get(part).id == id


def test_a_part_of_an_id_that_is_too_short_is_refused(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    for part in ("", id[:5]):
        with pytest.raises(InvalidInputError) as error:
            store.get(part)
        assert (error.value.field, error.value.limit) == ("id", "6")


def test_a_part_that_fits_several_ids_is_not_guessed(store: MemoryStore) -> None:
    # Ids begin with the time, so memories of one moment share their beginning.
    one, _ = store.remember("a walrus").id, store.remember("a heron").id
    with pytest.raises(ConflictError, match="several"):
        store.delete(one[:6])
    assert store.count() == 2


def test_a_deleted_memory_is_named_by_a_part_of_its_id_too(store: MemoryStore) -> None:
    id = store.remember("a walrus").id
    store.delete(id)
    assert store.history(id[-8:])[0].id == id
    store.undo(id[-8:])
    assert recalled(store, "walrus") == ["a walrus"]


def test_links_are_seen_from_both_ends_and_survive_edits(store: MemoryStore) -> None:
    cause, effect = store.remember("the port is taken").id, store.remember("the server does not start").id
    store.link(cause, effect, "causes", "seen in the log", weight=0.5)
    store.edit(effect, content="the server does not come up")
    [outward], [inward] = store.related(cause), store.related(effect)
    assert (outward.kind, outward.direction, outward.weight, outward.reason) == (
        "causes",
        "out",
        0.5,
        "seen in the log",
    )
    assert outward.memory.content == "the server does not come up"
    assert (inward.direction, inward.memory.id) == ("in", cause)


def test_linking_again_replaces_the_link(store: MemoryStore) -> None:
    a, b = store.remember("one").id, store.remember("two").id
    store.link(a, b, "causes", "guessed")
    store.link(a, b, "causes", "known")
    assert [found.reason for found in store.related(a)] == ["known"]


def test_a_link_to_itself_or_out_of_bounds_is_refused(store: MemoryStore) -> None:
    a, b = store.remember("one").id, store.remember("two").id
    for arguments, field in (((a, a), "target"), ((a, b, ""), "kind")):
        with pytest.raises(InvalidInputError) as error:
            store.link(*arguments)
        assert error.value.field == field
    for weight in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidInputError) as error:
            store.link(a, b, weight=weight)
        assert error.value.field == "weight"
    assert store.related(a) == []


def test_related_shows_links_before_neighbours_and_never_more_than_the_limit(store: MemoryStore) -> None:
    asked = store.remember("a grey walrus sleeps").id
    near = store.remember("a grey tern swims far away").id
    linked = store.remember("an unrelated heron").id
    store.indexes.embed_pending()
    store.link(asked, linked)
    assert [(found.memory.id, found.kind) for found in store.related(asked)][:2] == [
        (linked, "related"),
        (near, "near"),
    ]
    assert [found.memory.id for found in store.related(asked, limit=1)] == [linked]


def test_neighbours_are_of_the_same_project_or_global(store: MemoryStore) -> None:
    asked = store.remember("a grey walrus sleeps").id
    store.remember("a grey walrus swims", project="other")
    everywhere = store.remember("a grey walrus dives", scope="global").id
    store.indexes.embed_pending()
    assert [found.memory.id for found in store.related(asked)] == [everywhere]


def test_two_handles_see_each_others_changes_at_once(open_store) -> None:
    one, two = open_store(project="app"), open_store(project="app")
    id = one.remember("a walrus").id
    assert recalled(two, "walrus") == ["a walrus"]
    two.edit(id, content="a heron")
    assert (recalled(one, "walrus"), recalled(one, "heron")) == ([], ["a heron"])
    one.delete(id)
    assert recalled(two, "heron") == []


def test_edited_entities_have_full_names(store: MemoryStore) -> None:
    project = "gitlab.com/group/walrus"
    id_ = store.remember("The walrus sleeps", project=project).id
    bound = store.in_work_trees(project, ["/work/walrus"])
    assert bound.edit(id_, entities=["!12", "/work/walrus/src/app.py"]).entities == (f"{project}!12", "src/app.py")
    assert [memory.id for memory in store.list(project=project, entity="!12")] == [id_]
    # A moved memory means the items of its new project.
    assert store.edit(id_, entities=["!12"], project="gitlab.com/group/seal").entities == ("gitlab.com/group/seal!12",)
