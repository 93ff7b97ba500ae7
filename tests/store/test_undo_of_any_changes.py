"""Undo of all changes one after another leads back to the empty store, and redo of all of them to the last state.

An undo of any operation and its redo lead to the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory import ConflictError, MemoryStore, Status

TEXTS = (
    "We use npm.",
    "Use pnpm instead of npm.",
    "The port is 8080.",
    "The port is 9090.",
    "Always sign commits.",
    "You no longer need to sign commits.",
    "We deploy to Heroku.",
    "We moved from Heroku to Fly.io.",
)
TEXT = st.sampled_from(TEXTS)
TRUST = st.sampled_from(["user", "agent", "extracted"])
PLACE = st.integers(0, 5)
"""Place of a memory in the list of all, so that each draw names one."""
CHANGES = st.one_of(
    st.tuples(st.just("remember"), TEXT, TRUST),
    st.tuples(st.just("topic"), TEXT, st.sampled_from("ab")),
    st.tuples(st.just("edit"), PLACE, TEXT),
    st.tuples(st.sampled_from(["archive", "restore", "delete", "pin", "age"]), PLACE),
    st.tuples(st.just("merge"), PLACE, PLACE, TEXT),
    st.tuples(st.just("together"), PLACE, TEXT, TEXT),
    st.tuples(st.just("many"), st.lists(TEXT, min_size=2, max_size=4)),
)
_numbers = count()


def every(store: MemoryStore) -> list[dict[str, Any]]:
    """Everything that a user sees of all memories."""
    hidden = {"key", "uses", "used_at"}
    memories = store.list(project="*", status=[*Status], with_expired=True)
    seen = [{name: getattr(memory, name) for name in memory.__slots__ if name not in hidden} for memory in memories]
    return sorted(seen, key=lambda fields: str(fields["id"]))


def change(store: MemoryStore, kind: str, *about: Any) -> None:
    """Make a change; nothing if it is about a memory and there is none."""
    ids = [memory.id for memory in store.list(project="*", status=[*Status])]

    def of(place: int) -> str:
        return ids[place % len(ids)]

    match kind, about:
        case "remember", (text, trust):
            store.remember(text, trust=trust)
        case "topic", (text, topic):
            store.remember(text, topic=topic)
        case "many", (texts,):
            store.remember_many([{"content": text} for text in texts])
        case "edit", (place, text) if ids:
            store.edit(of(place), content=text)
        case "merge", (one, other, text) if len(ids) > 1 and of(one) != of(other):
            store.merge([of(one), of(other)], text)
        case "together", (place, old, new) if ids:
            together = store.in_one_operation()
            together.edit(of(place), content=old)
            together.remember(new)
            together.archive(of(place))
        case "age", (place,) if ids:
            store.operations.archive_in_upkeep([of(place)], "older than 180 days")
        case (("archive" | "restore" | "delete" | "pin"), (place,)) if ids:
            getattr(store, kind)(of(place))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=12))
def test_all_changes_are_undone_and_redone(
    open_store: Callable[..., MemoryStore], tmp_path: Path, changes: list[tuple[Any, ...]]
) -> None:
    store = open_store(tmp_path / str(next(_numbers)), project="app")
    for kind, *about in changes:
        with suppress(ConflictError):
            change(store, kind, *about)
    last = every(store)
    while operations := store.operations.list(undone=False, limit=1):
        store.operations.undo(operations[0].operation)
    assert every(store) == []
    while operations := store.operations.list(undone=True, limit=1):
        store.operations.redo(operations[0].operation)
    assert every(store) == last


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=12))
def test_undo_and_redo_of_any_operation_lead_to_the_same_state(
    open_store: Callable[..., MemoryStore], tmp_path: Path, changes: list[tuple[Any, ...]]
) -> None:
    store = open_store(tmp_path / str(next(_numbers)), project="app")
    for kind, *about in changes:
        with suppress(ConflictError):
            change(store, kind, *about)
    before = every(store)
    for operation in store.operations.list(undone=False):
        with suppress(ConflictError):
            store.operations.undo(operation.operation)
            store.operations.redo(operation.operation)
        assert every(store) == before
