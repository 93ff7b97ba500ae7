"""Memories of messages that the user undoes in OpenCode are away at once, and come back with a redo."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hosts.opencode.test_live_learning import SESSION, learned, rest
from hosts.opencode.test_undone_messages import (
    LATE_MS,
    LATER_MS,
    LEDGER,
    NEXT,
    RULE,
    Session,
    begin,
    fail,
    reconnect,
)
from opencode_memory import MemoryStore, NotFoundError
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.rejections import record_rejection
from opencode_memory.models import Source, Status
from opencode_memory.store.operations import Operations
from support.learning import make_reader
from support.opencode import FakeOpenCode
from support.stores import NOW_MS, open_store, set_clock

LIFTED = "You no longer need to run `make lint` before you commit."
ASKED = "Always run `make lint` before you commit."


@pytest.fixture
def session(store: MemoryStore, tmp_path: Path) -> Session:
    return begin(store, tmp_path)


def taken(store: MemoryStore) -> tuple[tuple[str, int], ...]:
    return SessionState.from_json(store.learning.open(SESSION)[1]).taken


def test_memory_is_away_while_its_message_is_undone(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", RULE)
    rest(store)
    before = [replace(memory, key=0) for memory in store.list(project="*")]
    # The user begins another session, so OpenCode never removes the messages.
    session.undo("msg_2")
    assert learned(store) == [LEDGER]
    session.undo("msg_1")
    assert learned(store) == []
    session.undo("msg_2")
    assert learned(store) == [LEDGER]
    session.undo(None)
    assert [replace(memory, key=0) for memory in store.list(project="*")] == before
    assert taken(store) == ()


def test_memory_of_a_removed_message_stays_away(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=NEXT)
    assert learned(store) == []
    assert taken(store) == ()
    # The same statement can be learned again.
    session.say("msg_3", LEDGER)
    rest(store, after_ms=LATER_MS)
    assert learned(store) == [LEDGER]


def test_replaced_memory_comes_back_and_is_replaced_again(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", ASKED)
    rest(store)
    session.say("msg_2", LIFTED)
    rest(store, after_ms=LATER_MS)
    before = {memory.content: memory.status for memory in store.list(project="*", status=[*Status])}
    assert before == {ASKED: Status.SUPERSEDED, LIFTED: Status.ACTIVE}
    session.undo("msg_2")
    assert learned(store) == [ASKED]
    session.undo("msg_1")
    assert store.list(project="*", status=[*Status]) == []
    session.undo(None)
    assert {memory.content: memory.status for memory in store.list(project="*", status=[*Status])} == before


def test_each_text_that_an_agent_gave_a_memory_comes_back(store: MemoryStore, session: Session) -> None:
    for message, place in (("msg_0", "in the vault"), ("msg_2", "on the desk"), ("msg_4", "in the drawer")):
        source = Source(tool="opencode", session=SESSION, message=message)
        store.acting_as("agent").remember(
            f"The deploy key lies {place}.", topic="deploy key", trust="agent", source=source
        )
    session.say("msg_1", "Please remember where the key is.")
    session.undo("msg_1")
    assert learned(store) == ["The deploy key lies in the vault."]
    session.undo("msg_3")
    assert learned(store) == ["The deploy key lies on the desk."]
    session.undo(None)
    assert learned(store) == ["The deploy key lies in the drawer."]


def test_what_the_user_did_to_a_memory_meanwhile_stays(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", RULE)
    rest(store)
    ids = {memory.content: memory.id for memory in store.list(project="*")}
    session.undo("msg_1")
    store.purge(ids[RULE])
    store.remember(LEDGER, project=None)
    session.undo(None)
    assert RULE not in learned(store)
    assert LEDGER in learned(store)


@pytest.mark.parametrize("then", ["restart", "message"])
def test_redo_that_was_interrupted_goes_on_later(
    store: MemoryStore, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    session.undo("msg_1")
    with monkeypatch.context() as patched:
        patched.setattr(Operations, "redo", fail)
        with pytest.raises(RuntimeError):
            session.undo(None)
    assert learned(store) == []
    if then == "restart":
        reconnect(store, session, tmp_path).undo(None)
    else:
        session.say("msg_2", NEXT)
    assert learned(store) == [LEDGER]


def call_tool(
    session: Session,
    message: str,
    change: Callable[[MemoryStore], str],
    store: MemoryStore,
    *,
    tool: str = "memory_edit_memory",
) -> str:
    """Let the agent call a tool, which changes a memory, and answer with its id. Return the id."""
    at_ms = NOW_MS + 100 * int(message.removeprefix("msg_"))
    set_clock(store, at_ms)
    id_ = change(store.acting_as("agent"))
    state = {
        "status": "completed",
        "input": {},
        "output": f"Done: [{id_[-8:]}] and [0badc0de].",
        "title": "",
        "metadata": {},
        "time": {"start": at_ms - 10, "end": at_ms + 10},
    }
    part = {"type": "tool", "tool": tool, "callID": f"call_{message}", "state": state}
    session.answer(message, part)
    return id_


def edit(content: str, id: str) -> Callable[[MemoryStore], str]:
    return lambda store: store.edit(id, content=content).id


def test_what_an_agent_changed_with_a_tool_is_taken_back_and_redone(store: MemoryStore, session: Session) -> None:
    key = store.remember("The deploy key lies in the vault.").id
    crane = store.remember("The crane has two drivers.").id
    session.say("msg_1", "Please see where the key is.")
    call_tool(session, "msg_2", edit("The deploy key lies on the desk.", key), store)
    session.say("msg_3", "Now clean up.")
    call_tool(session, "msg_4", edit("The deploy key lies in the drawer.", key), store)
    call_tool(session, "msg_5", lambda store: store.delete(crane)[0], store)
    new = call_tool(session, "msg_6", lambda store: store.remember("The lock is new.", trust="agent").id, store)
    after = learned(store)
    assert set(after) == {"The deploy key lies in the drawer.", "The lock is new."}
    session.undo("msg_3")
    assert set(learned(store)) == {"The deploy key lies on the desk.", "The crane has two drivers."}
    session.undo("msg_1")
    assert set(learned(store)) == {"The deploy key lies in the vault.", "The crane has two drivers."}
    session.undo("msg_5")
    assert set(learned(store)) == {"The deploy key lies in the drawer.", "The crane has two drivers."}
    session.undo(None)
    assert set(learned(store)) == set(after)
    session.undo("msg_3")
    session.go_on("msg_3", "msg_4", "msg_5", "msg_6", message="msg_7", text=NEXT)
    assert set(learned(store)) == {"The deploy key lies on the desk.", "The crane has two drivers."}
    assert taken(store) == ()
    with pytest.raises(NotFoundError):
        store.get(new)


def test_change_of_which_opencode_tells_after_the_undo_is_taken_back(store: MemoryStore, session: Session) -> None:
    key = store.remember("The deploy key lies in the vault.").id
    session.say("msg_1", "Please see where the key is.")
    session.undo("msg_1")
    call_tool(session, "msg_2", edit("The deploy key lies on the desk.", key), store)
    assert learned(store) == ["The deploy key lies in the vault."]
    session.undo(None)
    assert learned(store) == ["The deploy key lies on the desk."]


def test_change_of_another_agent_that_a_shell_prints_stays(store: MemoryStore, session: Session) -> None:
    key = store.remember("The deploy key lies in the vault.").id
    session.say("msg_1", "Please run the tests.")
    call_tool(session, "msg_2", edit("The deploy key lies on the desk.", key), store, tool="bash")
    session.undo("msg_1")
    assert learned(store) == ["The deploy key lies on the desk."]


def test_change_of_a_person_or_another_agent_stays(store: MemoryStore, session: Session) -> None:
    key = store.remember("The deploy key lies in the vault.").id
    lock = store.remember("The lock is new.").id
    session.say("msg_1", "Please see where the key is.")
    call_tool(session, "msg_2", edit("The deploy key lies on the desk.", key), store)
    store.edit(key, content="The deploy key lies in my pocket.")
    set_clock(store, NOW_MS + 5_000)
    store.acting_as("agent").edit(lock, content="The lock is old.")
    call_tool(session, "msg_4", lambda _: lock, store)
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", "msg_4", message="msg_5", text=NEXT)
    assert set(learned(store)) == {"The deploy key lies in my pocket.", "The lock is old."}


def test_statement_that_an_agent_deleted_can_be_learned_again_after_the_undo(
    store: MemoryStore, session: Session
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    session.say("msg_2", "Please clean up what is stored about databases.")

    def delete(agent: MemoryStore) -> str:
        record_rejection(agent, memory)
        agent.delete(memory.id)
        return memory.id

    call_tool(session, "msg_3", delete, store)
    assert learned(store) == []
    session.undo("msg_2")
    assert learned(store) == [LEDGER]
    session.undo(None)
    session.say("msg_4", LEDGER)
    rest(store, after_ms=LATER_MS)
    assert learned(store) == []
    session.undo("msg_2")
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", "msg_3", "msg_4", message="msg_5", text=LEDGER)
    rest(store, after_ms=2 * LATER_MS)
    assert learned(store) == [LEDGER]


class TestDatabase:
    """Sessions that the plugin saw the undo of, and that are read from OpenCode's database later."""

    @pytest.fixture
    def fake(self, store: MemoryStore, session: Session, tmp_path: Path) -> Iterator[FakeOpenCode]:
        session.say("msg_1", LEDGER)
        rest(store)
        session.undo("msg_1")
        assert learned(store) == []
        with FakeOpenCode(tmp_path / "opencode.db") as fake:
            fake.session(SESSION)
            yield fake

    def test_memory_of_a_message_that_is_gone_stays_away(self, store: MemoryStore, fake: FakeOpenCode) -> None:
        fake.user(SESSION, "msg_2", NEXT, at=1_000)
        fake.agent(SESSION, "msg_3", "Done.", at=1_001)
        make_reader(store, fake.path).read(at_ms=LATE_MS)
        assert learned(store) == []
        assert taken(store) == ()

    @pytest.mark.parametrize("is_redone", [True, False])
    def test_memory_of_a_redone_message_comes_back(
        self, store: MemoryStore, fake: FakeOpenCode, is_redone: bool
    ) -> None:
        fake.user(SESSION, "msg_1", LEDGER, at=1_000)
        fake.agent(SESSION, "msg_2", "Done.", at=1_001)
        if not is_redone:
            fake.connection.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": "msg_1"}),))
        make_reader(store, fake.path).read(at_ms=LATE_MS)
        assert learned(store) == ([LEDGER] if is_redone else [])


def test_copy_of_a_database_takes_nothing_back(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    with FakeOpenCode(tmp_path / "copy.db") as copy:
        copy.session(SESSION)
        copy.user(SESSION, "msg_1", LEDGER, at=1_000)
        copy.agent(SESSION, "msg_2", "Done.", at=1_001)
        copy.connection.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": "msg_1"}),))
        make_reader(store, copy.path).read(at_ms=LATE_MS)
    assert learned(store) == [LEDGER]


_SAID = (
    "We decided to use PostgreSQL for the ledger.",
    "From now on, always run `make lint` before you commit.",
    "Never push to a remote unless I say so.",
    "We decided to keep the crane logs for 30 days.",
    "You no longer need to run `make lint` before you commit.",
    "Always write the changelog in German.",
)
_STEPS = st.lists(
    st.one_of(st.just("say"), st.just("redo"), st.just("go on"), st.integers(min_value=0, max_value=5)), max_size=12
)


@given(steps=_STEPS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_memories_are_those_of_the_messages_that_are_there(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | int]
) -> None:
    folder = tmp_path_factory.mktemp("undone")
    with open_store(folder / "store") as store, open_store(folder / "plain") as plain:
        session = begin(store, folder)
        there: list[tuple[str, str]] = []
        since, number, clock = None, 0, 61_000
        for step in steps:
            if isinstance(step, int):
                since = there[step % len(there)][0] if there else None
                session.undo(since)
            elif step == "redo":
                since = None
                session.undo(None)
            else:
                if since is not None:
                    gone = [message for message, _ in there if message >= since]
                    there = [one for one in there if one[0] < since]
                    session.remove(*gone)
                    since = None
                    session.undo(None)
                number += 1
                text = _SAID[number % len(_SAID)] if step == "say" else NEXT
                there.append((f"msg_{number:02}", text))
                session.say(*there[-1])
                clock += 200_000
                rest(store, after_ms=clock)
        visible = [one for one in there if since is None or one[0] < since]
        told = begin(plain, folder)
        clock = 61_000
        for one in visible:
            told.say(*one)
            clock += 200_000
            rest(plain, after_ms=clock)
        assert sorted(learned(store)) == sorted(learned(plain))
