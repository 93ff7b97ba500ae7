"""What else undone messages leave behind: files, outcomes, solutions, and words that took other words back."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosts.opencode.test_live_learning import IDLE, SESSION, learned, rest
from hosts.opencode.test_undone_messages import (
    LATE_MS,
    LATER_MS,
    LEDGER,
    NEXT,
    Session,
    begin,
    edit_of,
)
from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.session_state import MOST_TURNS
from opencode_memory.models import Source
from support.learning import make_reader
from support.opencode import FakeOpenCode

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


FIX = "Please fix the rounding in ledger.py."


def list_summaries(store: MemoryStore) -> list[str]:
    return [memory.content for memory in store.list(project="*", category="conversation")]


@pytest.fixture
def half_undone(store: MemoryStore, session: Session, tmp_path: Path) -> Session:
    """Return a session whose second request, and the work for it, is undone for good."""
    session.say("msg_1", FIX)
    session.edit("msg_2", tmp_path / "ledger.py", "Fixed the rounding of the ledger.")
    rest(store)
    session.say("msg_3", "Please rewrite the parser in Haskell.")
    session.edit("msg_4", tmp_path / "parser.hs", "Rewrote the parser in Haskell.")
    rest(store, after_ms=LATER_MS)
    [summary] = list_summaries(store)
    assert "parser.hs" in summary
    session.undo("msg_3")
    session.go_on("msg_3", "msg_4", message="msg_5", text=NEXT)
    return session


def test_summary_that_was_stored_before_the_undo_is_taken_back(store: MemoryStore, half_undone: Session) -> None:
    assert list_summaries(store) == [
        f"Goal: {FIX}\nOutcome: Fixed the rounding of the ledger.\nFiles: ledger.py",
    ]


def test_next_summary_names_no_file_and_no_outcome_of_undone_work(
    store: MemoryStore, half_undone: Session, tmp_path: Path
) -> None:
    half_undone.edit("msg_6", tmp_path / "test_ledger.py", "Let me know.")
    rest(store, after_ms=2 * LATER_MS)
    assert list_summaries(store) == [f"Goal: {FIX}\nFiles: test_ledger.py, ledger.py"]


def test_redone_work_is_in_the_summary(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", FIX)
    session.edit("msg_2", tmp_path / "ledger.py", "Fixed the rounding of the ledger.")
    session.undo("msg_1")
    session.undo(None)
    session.take(IDLE)
    rest(store)
    assert list_summaries(store) == [
        f"Goal: {FIX}\nOutcome: Fixed the rounding of the ledger.\nFiles: ledger.py",
    ]


def test_all_undone_work_leaves_no_summary(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", FIX)
    session.edit("msg_2", tmp_path / "ledger.py", "Fixed the rounding of the ledger.")
    rest(store)
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", message="msg_3", text=NEXT)
    rest(store, after_ms=LATER_MS)
    assert list_summaries(store) == []


def test_file_of_an_undone_message_from_long_ago_is_not_named(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    ids = [f"msg_{number:03}" for number in range(2 * MOST_TURNS)]
    session.say(ids[0], FIX)
    session.edit(ids[1], tmp_path / "ledger.py", "Fixed the rounding of the ledger.")
    for id_ in ids[2:]:
        session.say(id_, "Go on.")
    session.undo(ids[0])
    session.go_on(*ids, message="msg_100", text=NEXT)
    session.edit("msg_101", tmp_path / "parser.py", "Let me know.")
    rest(store)
    assert list_summaries(store) == [f"Goal: {NEXT}\nFiles: parser.py"]


@pytest.mark.parametrize("is_redone", [False, True])
def test_undone_retraction_retracts_nothing(store: MemoryStore, session: Session, is_redone: bool) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", "No wait, scratch that.")
    session.undo("msg_2")
    if is_redone:
        session.undo(None)
        session.take(IDLE)
    else:
        session.go_on("msg_2", message="msg_3", text=NEXT)
    rest(store)
    assert learned(store) == ([] if is_redone else [LEDGER])


def test_retraction_that_is_undone_with_its_statement_brings_nothing_back(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", "No wait, scratch that.")
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", message="msg_3", text=NEXT)
    rest(store)
    assert learned(store) == []


def test_work_that_disappeared_between_two_readings_is_forgotten(store: MemoryStore, tmp_path: Path) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session("ses_1")
        fake.user("ses_1", "msg_1", LEDGER, at=1_000)
        fake.user("ses_1", "msg_2", "No wait, scratch that.", at=1_001)
        make_reader(store, fake.path, rest_ms=2 * LATE_MS).read(at_ms=LATE_MS)
        fake.connection.execute("DELETE FROM message WHERE id = 'msg_2'")
        fake.user("ses_1", "msg_3", NEXT, at=1_002)
        make_reader(store, fake.path, rest_ms=2 * LATE_MS).read(at_ms=LATE_MS)
    assert learned(store) == [LEDGER]


def test_earlier_messages_that_another_program_removes_leave_the_work_since(store: MemoryStore, tmp_path: Path) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session("ses_1")
        fake.user("ses_1", "msg_1", "Please have a look at the ledger.", at=1_000)
        fake.user("ses_1", "msg_2", FIX, at=1_001)
        fake.part("ses_1", "msg_3", "prt_1", edit_of(Path("ledger.py")), at=1_002)
        fake.agent("ses_1", "msg_3", "Fixed the rounding of the ledger.", at=1_002)
        make_reader(store, fake.path, rest_ms=2 * LATE_MS).read(at_ms=LATE_MS)
        fake.connection.execute("DELETE FROM message WHERE id = 'msg_1'")
        fake.user("ses_1", "msg_4", NEXT, at=1_003)
        make_reader(store, fake.path).read(at_ms=LATE_MS)
    [summary] = list_summaries(store)
    assert "Goal: Please have a look" in summary
    assert "ledger.py" in summary
