"""What else undone messages leave behind: files, outcomes, solutions, and words that took other words back."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosts.opencode.test_live_learning import SESSION, learned
from hosts.opencode.test_undone_messages import NEXT, Session, begin
from opencode_memory import MemoryStore
from opencode_memory.models import Source

VAULT = "The deploy key lies in the vault."


@pytest.fixture
def session(store: MemoryStore, tmp_path: Path) -> Session:
    return begin(store, tmp_path)


def store_key(store: MemoryStore, place: str) -> str:
    agent = store.acting_as("agent")
    source = Source(tool="opencode", session=SESSION, message="msg_2")
    return agent.remember(f"The deploy key lies {place}.", topic="deploy key", source=source, trust="agent").id


def undo_all(session: Session) -> None:
    session.say("msg_1", "Please remember where the key is.")
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", message="msg_5", text=NEXT)


def test_two_texts_of_one_message_are_both_taken_back(store: MemoryStore, session: Session) -> None:
    store_key(store, "on the desk")
    store_key(store, "in the safe")
    undo_all(session)
    assert learned(store) == []


def test_text_that_the_agent_edits_again_is_taken_back(store: MemoryStore, session: Session) -> None:
    key = store_key(store, "on the desk")
    store.acting_as("agent").edit(key, content="The deploy key lies under the desk.")
    undo_all(session)
    assert learned(store) == []


def test_text_of_a_person_between_two_of_an_agent_stays(store: MemoryStore, session: Session) -> None:
    key = store_key(store, "on the desk")
    store.acting_as("user").edit(key, content=VAULT)
    store.acting_as("agent").edit(key, content="The deploy key lies in the vault of the harbor.")
    undo_all(session)
    assert learned(store) == ["The deploy key lies in the vault of the harbor."]
