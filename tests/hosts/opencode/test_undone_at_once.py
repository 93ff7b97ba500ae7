"""Messages that are undone while another process writes, dies or holds the lock."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hosts.opencode.test_live_learning import SESSION, learned, rest
from hosts.opencode.test_undone_messages import LATE_MS, LATER_MS, LEDGER, NEXT, RULE, Session, begin, fail, reconnect
from opencode_memory import BusyError, MemoryStore
from opencode_memory.hosts.opencode.feed import live_learning
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.undone import note_undone
from opencode_memory.models import Source
from opencode_memory.store.learning_state import Batch
from support.learning import make_reader
from support.opencode import FakeOpenCode


@pytest.fixture
def session(store: MemoryStore, tmp_path: Path) -> Session:
    return begin(store, tmp_path)


def test_edit_of_a_person_at_the_same_moment_stays(
    store: MemoryStore, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    real, edited = MemoryStore.undo, "The ledger is in PostgreSQL 17."

    def undo(self: MemoryStore, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(MemoryStore, "undo", real)
        store.acting_as("user").edit(memory.id, content=edited)
        return real(self, *arguments, **options)

    monkeypatch.setattr(MemoryStore, "undo", undo)
    session.undo("msg_1")
    session.remove("msg_1")
    assert learned(store) == [edited]


def test_two_processes_take_back_one_text_once(
    store: MemoryStore, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message, place in (("msg_0", "in the vault"), ("msg_2", "on the desk")):
        source = Source(tool="opencode", session=SESSION, message=message)
        store.acting_as("agent").remember(
            f"The deploy key lies {place}.", topic="deploy key", trust="agent", source=source
        )
    real = MemoryStore.undo

    def undo(self: MemoryStore, *arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(MemoryStore, "undo", real)
        note_undone(store, SESSION, UndoneMessages(since="msg_1"), project=None)
        return real(self, *arguments, **options)

    session.say("msg_1", "Please remember where the key is.")
    session.undo("msg_1")
    monkeypatch.setattr(MemoryStore, "undo", undo)
    session.remove("msg_1", "msg_2")
    session.undo(None)
    assert learned(store) == ["The deploy key lies in the vault."]


@pytest.mark.parametrize("lost", ["removal", "end"])
def test_note_that_could_not_be_written_is_written_with_the_next_message(
    store: MemoryStore, session: Session, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    session.undo("msg_1")
    if lost == "end":
        session.remove("msg_1")
    with monkeypatch.context() as patched:
        patched.setattr(live_learning, "note_undone", be_busy)
        with pytest.raises(BusyError):
            session.remove("msg_1") if lost == "removal" else session.undo(None)
    session.undo(None)
    session.say("msg_2", RULE)
    rest(store, after_ms=LATER_MS)
    assert learned(store) == [RULE]


def be_busy(*_: object, **__: object) -> None:
    raise BusyError("another process holds the lock")


def test_copy_of_a_database_that_was_made_during_an_undo_holds_nothing_back(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    with FakeOpenCode(tmp_path / "copy.db") as fake:
        fake.session(SESSION)
        fake.user(SESSION, "msg_1", LEDGER, at=1_000)
        fake.agent(SESSION, "msg_2", "Done.", at=1_001)
        fake.connection.execute("UPDATE session SET revert = ?", (json.dumps({"messageID": "msg_1"}),))
    session.say("msg_3", NEXT)
    make_reader(store, tmp_path / "copy.db").read(at_ms=LATE_MS)
    session.say("msg_5", RULE)
    rest(store)
    assert learned(store) == [RULE]


@pytest.mark.parametrize("by", ["plugin", "database"])
def test_next_note_takes_back_what_a_dead_process_left(
    store: MemoryStore, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "undo", fail)
        with pytest.raises(RuntimeError):
            session.undo("msg_1")
    # The process died after it had written the state.
    assert learned(store) == [LEDGER]
    if by == "plugin":
        reconnect(store, session, tmp_path).go_on("msg_1", message="msg_2", text=NEXT)
    else:
        with FakeOpenCode(tmp_path / "opencode.db") as fake:
            fake.session(SESSION)
            fake.user(SESSION, "msg_2", NEXT, at=1_000)
            fake.agent(SESSION, "msg_3", "Done.", at=1_001)
            make_reader(store, fake.path).read(at_ms=LATE_MS)
    assert learned(store) == []
    assert SessionState.from_json(store.learning.open(SESSION)[1]).removed == ()


def test_death_before_the_memory_is_taken_back_counts_its_statement_down_once(
    store: MemoryStore, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    form = memory.metadata["seen_as"]
    version, state = store.learning.open(SESSION)
    # The user has said it three times in this session.
    again = [(memory.project, form, 2)]
    store.learning.write(Batch(session=SESSION, version=version, state=state, sightings=again))
    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "undo", fail)
        with pytest.raises(RuntimeError):
            session.undo("msg_1")
        for _ in range(2):
            with pytest.raises(RuntimeError):
                session.remove("msg_1")
    session.undo(None)
    assert learned(store) == []
    store.close()
    with closing(sqlite3.connect(store.data_dir / "store.db")) as connection:
        assert connection.execute("SELECT times FROM sighting WHERE what = ?", (form,)).fetchall() == [(2,)]
