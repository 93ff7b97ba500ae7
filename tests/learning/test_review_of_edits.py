"""Accepting a text that was proposed as the new text of another memory."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.review import REPLACES, accept
from opencode_memory.models import Memory, Status


def propose(store: MemoryStore, id_: object) -> Memory:
    found = store.remember("Deploy with make ship", project="app", status="candidate", metadata={REPLACES: id_})
    return store.get(found.id)


def test_accepted_text_supersedes_the_memory(store: MemoryStore) -> None:
    old = store.remember("Run the old script for releases", project="app").id
    accepted = accept(store, propose(store, old))
    assert (accepted.content, accepted.status) == ("Deploy with make ship", Status.ACTIVE)
    assert (store.get(old).status, store.get(old).superseded_by) == (Status.SUPERSEDED, accepted.id)


def test_one_undo_takes_an_acceptance_back(store: MemoryStore) -> None:
    old = store.remember("Run the old script for releases", project="app").id
    proposed = propose(store, old)
    accept(store, proposed, "Deploy with make release")
    store.undo()
    assert [(memory.id, memory.content) for memory in store.list()] == [(old, "Run the old script for releases")]
    waiting = store.get(proposed.id)
    assert (waiting.content, waiting.status) == (proposed.content, Status.CANDIDATE)
    [undone] = store.operations.list(undone=True)
    store.operations.redo(undone.operation)
    assert [memory.content for memory in store.list()] == ["Deploy with make release"]


def test_text_of_the_user_is_kept(store: MemoryStore) -> None:
    old = store.remember("Run the old script for releases", project="app").id
    assert accept(store, propose(store, old), "Deploy with make release").content == "Deploy with make release"
    assert store.get(old).status is Status.SUPERSEDED


@pytest.mark.parametrize("named", ["0192", "not an id", 7, None])
def test_unknown_memory_changes_nothing(store: MemoryStore, named: object) -> None:
    assert accept(store, propose(store, named)).status is Status.ACTIVE


@pytest.mark.parametrize("scope", ["global", "other"])
def test_memory_of_another_scope_is_not_superseded(store: MemoryStore, scope: str) -> None:
    where = {"scope": "global"} if scope == "global" else {"project": "other"}
    old = store.remember("Run the old script for releases", **where).id
    accept(store, propose(store, old))
    assert store.get(old).status is Status.ACTIVE


def test_archived_memory_stays_archived(store: MemoryStore) -> None:
    old = store.remember("Run the old script for releases", project="app").id
    proposed = propose(store, old)
    store.archive(old)
    accept(store, proposed)
    assert store.get(old).status is Status.ARCHIVED


def test_accepted_text_keeps_topic_pin_and_reminders_of_the_memory(store: MemoryStore) -> None:
    old = store.remember("Run the old script for releases", project="app", topic="release").id
    due = datetime(2030, 1, 1, tzinfo=UTC)
    store.reminders.set(old, due, every_days=7)
    store.reminders.set(old, due, every_days=30, is_review=True)
    store.pin(old)
    accepted = accept(store, propose(store, old))
    assert (accepted.topic, accepted.pinned) == ("release", True)
    assert (accepted.remind_at, accepted.remind_every) == (due, 7)
    assert (accepted.review_after, accepted.review_every) == (due, 30)
    assert [one.id for one in store.list()] == [accepted.id]
    store.undo()
    assert [(one.id, one.topic, one.pinned) for one in store.list()] == [(old, "release", True)]
