"""Summaries of forked sessions: they tell what the fork did itself, and never repeat that of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.events import Event, Message, UndoneMessages
from opencode_memory.learning.undone import note_undone
from support.learning import OTHER, SHOP, agent, bash, edit, fail, messages, process, user

TOLD = messages(
    user("Make the search faster."), edit("src/search.py"), bash("make check"), agent("The search is now cached.")
)
BEFORE = (
    "Goal: Make the search faster.\nOutcome: The search is now cached.\nFiles: src/search.py\nCommands: `make check`"
)


def summaries(store: MemoryStore) -> dict[str, str]:
    listed = store.list(project="app", category="conversation")
    return {str(memory.topic).removeprefix("session:"): memory.content for memory in listed}


def fork(store: MemoryStore, *events: Event, told: Sequence[Message] = TOLD) -> dict[str, str]:
    """Let a fork copy messages and go on; return the summaries of both sessions."""
    copies = [replace(message, id=f"msg_b{message.id}") for message in told]
    process(store, OTHER, [*copies, *messages(*events, of="own")])
    return summaries(store)


@pytest.fixture(autouse=True)
def original(store: MemoryStore) -> None:
    process(store, SHOP, TOLD)
    assert summaries(store) == {SHOP.id: BEFORE}


@pytest.mark.parametrize(
    "events",
    [(), (user("Thanks, that is all."), agent("You're welcome.")), (user("What did you cache there?"), bash("ls"))],
    ids=["no message", "thanks", "question"],
)
def test_fork_without_work_of_its_own_has_no_summary(store: MemoryStore, events: Sequence[Event]) -> None:
    assert fork(store, *events) == {SHOP.id: BEFORE}


def test_fork_that_went_on_tells_only_its_own_work(store: MemoryStore) -> None:
    own = (user("Use an index instead."), edit("src/index.py"), bash("make index"), agent("The search is now indexed."))
    assert fork(store, *own) == {
        SHOP.id: BEFORE,
        OTHER.id: "Goal: Use an index instead.\nOutcome: The search is now indexed.\n"
        "Files: src/index.py\nCommands: `make index`",
    }


def test_repeated_work_of_a_fork_is_its_own(store: MemoryStore) -> None:
    own = (user("ok"), edit("src/search.py", "b = 1", "b = 2"), bash("make check"))
    assert fork(store, *own)[OTHER.id] == "Goal: Make the search faster.\nFiles: src/search.py\nCommands: `make check`"


def test_failure_that_a_fork_copied_stays_open(store: MemoryStore) -> None:
    told = [*TOLD, *messages(fail("pytest"), of="failed")]
    process(store, SHOP, told)
    assert OTHER.id not in fork(store, user("Thanks, that is all."), told=told)
    process(store, OTHER, messages(edit("src/index.py"), of="own2"))
    assert "Open: `pytest` fails" in summaries(store)[OTHER.id]


def test_fork_of_a_fork_tells_only_its_own_work(store: MemoryStore) -> None:
    own = messages(user("Use an index instead."), edit("src/index.py"), of="own")
    copies = [replace(message, id=f"msg_b{message.id}") for message in TOLD]
    process(store, OTHER, [*copies, *own])
    again = [replace(message, id=f"msg_c{message.id}") for message in (*TOLD, *own)]
    third = replace(SHOP, id="ses_c")
    process(store, third, [*again, *messages(user("ok"), of="third")])
    assert summaries(store).keys() == {SHOP.id, OTHER.id}
    process(store, third, messages(edit("src/tree.py"), of="tree"))
    assert summaries(store)["ses_c"] == "Goal: Make the search faster.\nFiles: src/tree.py"


def test_undone_work_of_a_fork_is_not_told(store: MemoryStore) -> None:
    copies = [replace(message, id=f"msg_b{message.id}") for message in TOLD]
    own = messages(user("Use an index instead."), edit("src/index.py"), of="own")
    process(store, OTHER, [*copies, *own], is_idle=False)
    note_undone(store, OTHER.id, UndoneMessages(since=own[0].id), project="app")
    note_undone(store, OTHER.id, UndoneMessages(removed=tuple(one.id for one in own)), project="app")
    process(store, OTHER, messages(user("Use a tree instead."), edit("src/tree.py"), of="own2"))
    assert summaries(store)[OTHER.id] == "Goal: Use a tree instead.\nFiles: src/tree.py"


def test_work_that_is_repeated_after_an_undo_of_copied_messages_is_told(store: MemoryStore) -> None:
    copies = [replace(message, id=f"msg_b{message.id}") for message in TOLD]
    own = messages(user("Use an index instead."), edit("src/index.py"), of="own")
    process(store, OTHER, [*copies, *own], is_idle=False)
    gone = tuple(one.id for one in (*copies, *own))
    note_undone(store, OTHER.id, UndoneMessages(since=gone[0]), project="app")
    note_undone(store, OTHER.id, UndoneMessages(removed=gone), project="app")
    process(store, OTHER, messages(user("Use a tree instead."), edit("src/tree.py"), bash("make check"), of="own2"))
    assert summaries(store)[OTHER.id] == "Goal: Use a tree instead.\nFiles: src/tree.py\nCommands: `make check`"


@pytest.mark.parametrize("page", [1, 3])
def test_batches_of_a_fork_do_not_change_its_summary(store: MemoryStore, page: int) -> None:
    told = [
        *(replace(message, id=f"msg_b{message.id}") for message in TOLD),
        *messages(user("Use an index instead."), edit("src/index.py"), of="own"),
    ]
    for start in range(0, len(told), page):
        process(store, OTHER, told[start : start + page])
    assert summaries(store)[OTHER.id] == "Goal: Use an index instead.\nFiles: src/index.py"


def test_purge_erases_a_command_from_the_copied_work(store: MemoryStore) -> None:
    told = [*TOLD, *messages(bash("make zanzibar"), bash("make zanzibar"), bash("make zanzibar"), of="more")]
    process(store, SHOP, told)
    fork(store, user("Use an index instead."), edit("src/index.py"), told=told)
    assert "zanzibar" in store.learning.open(OTHER.id)[1]
    for memory in store.list(project="app"):
        if "zanzibar" in memory.content:
            store.purge(memory.id)
    assert "zanzibar" not in store.learning.open(OTHER.id)[1]
