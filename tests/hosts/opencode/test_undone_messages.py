"""Messages that the user undoes in OpenCode: what they said is no memory any more, and a redo brings it back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from hosts.opencode.test_live_learning import IDLE, SESSION, begun, learned, rest, said
from opencode_memory import MemoryStore
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.live_learning import LiveLearning
from opencode_memory.hosts.opencode.feed.pages import Page
from opencode_memory.learning.switches import Switches
from opencode_memory.models import Source, Status
from opencode_memory.projects.resolver import ProjectResolver
from opencode_memory.store.learning_state import LearningState
from support.learning import SessionInfo, make_reader, messages, process, user
from support.opencode import FakeOpenCode
from support.stores import NOW_MS, files_holding

LEDGER = "We decided to use PostgreSQL for the ledger."
LATER_MS = 300_000
LATE_MS = NOW_MS + 10_000_000
RULE = "From now on, always run `make lint` before you commit."


def edit_of(file: Path) -> dict[str, Any]:
    """Return the part of a message in which the agent edits a file."""
    return {
        "type": "tool",
        "tool": "edit",
        "callID": "call_1",
        "state": {
            "status": "completed",
            "input": {"filePath": str(file), "oldString": "a - b", "newString": "a + b"},
            "output": "ok",
            "title": file.name,
            "metadata": {},
            "time": {"start": NOW_MS, "end": NOW_MS},
        },
    }


class Session:
    """A session whose events arrive one by one, as OpenCode publishes them."""

    def __init__(self, live: LiveLearning, folder: Path) -> None:
        self.live = live
        self._folder = folder
        self._waiting: list[dict[str, Any]] | None = None
        self.take(begun(folder))

    def take(self, *events: dict[str, Any]) -> None:
        for event in events:
            if self._waiting is None:
                self.live.take({"directory": str(self._folder), "events": [event]}, at_ms=NOW_MS)
            else:
                self._waiting.append(event)

    def hold(self) -> None:
        """Let the following events arrive together, as they do if the server is busy."""
        self._waiting = []

    def release(self) -> None:
        events, self._waiting = self._waiting, None
        self.live.take({"directory": str(self._folder), "events": events}, at_ms=NOW_MS)

    def say(self, message: str, text: str) -> None:
        self.take(*said(message, text, NOW_MS + int(message.removeprefix("msg_"))), IDLE)

    def edit(self, message: str, file: Path, text: str = "") -> None:
        """Let the agent edit a file, and end its turn with a text."""
        self.answer(message, edit_of(file), text)

    def answer(self, message: str, call: dict[str, Any], text: str = "") -> None:
        """Let the agent call a tool, and end its turn with a text."""
        done = {**call, "id": "prt_edit", "messageID": message, "sessionID": SESSION}
        told = {"id": "prt_told", "messageID": message, "sessionID": SESSION, "type": "text", "text": text}
        info = {"id": message, "sessionID": SESSION, "role": "assistant", "time": {"created": NOW_MS + 3}}
        ended = {**info, "finish": "stop", "time": {"created": NOW_MS + 3, "completed": NOW_MS + 4}}
        self.take(
            {"type": "message.updated", "properties": {"sessionID": SESSION, "info": info}},
            {"type": "message.part.updated", "properties": {"sessionID": SESSION, "part": done}},
            {"type": "message.part.updated", "properties": {"sessionID": SESSION, "part": told}},
            {"type": "message.updated", "properties": {"sessionID": SESSION, "info": ended}},
            IDLE,
        )

    def undo(self, message: str | None) -> None:
        """Undo the messages from one on; None is a redo."""
        revert = {} if message is None else {"revert": {"messageID": message, "snapshot": "", "diff": ""}}
        info = {"id": SESSION, "directory": str(self._folder), "title": "A title", **revert}
        self.take({"type": "session.updated", "properties": {"sessionID": SESSION, "info": info}})

    def remove(self, *messages: str) -> None:
        for message in messages:
            properties = {"sessionID": SESSION, "messageID": message}
            self.take({"type": "message.removed", "properties": properties})

    def go_on(self, *undone: str, message: str, text: str) -> None:
        """Send the next prompt, before which OpenCode removes the undone messages."""
        self.remove(*undone)
        self.undo(None)
        self.say(message, text)


def begin(store: MemoryStore, folder: Path) -> Session:
    live = LiveLearning(store, projects=ProjectResolver(store, {}), switches=Switches(), rest_seconds=60)
    return Session(live, folder)


@pytest.fixture
def session(store: MemoryStore, tmp_path: Path) -> Session:
    return begin(store, tmp_path)


def test_undone_statement_is_not_learned(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text="Please fix the failing test in ledger.py.")
    rest(store)
    assert learned(store) == []


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 1), (1, 2), (0, 2)])
def test_events_of_an_undo_may_arrive_together(store: MemoryStore, session: Session, first: int, last: int) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", RULE)
    rest(store)
    assert sorted(learned(store)) == [RULE, LEDGER]
    events: list[Callable[[], None]] = [
        lambda: session.undo("msg_2"),
        lambda: session.remove("msg_2"),
        lambda: session.undo(None),
    ]
    for number, happen in enumerate(events):
        if number == first:
            session.hold()
        happen()
        if number == last:
            session.release()
    assert learned(store) == [LEDGER]


def test_undone_statement_that_is_sent_again_is_learned(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    assert (memory.content, memory.source.message) == (LEDGER, "msg_2")


def test_only_messages_from_the_undone_one_on_are_forgotten(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.say("msg_2", RULE)
    session.undo("msg_2")
    session.go_on("msg_2", message="msg_3", text="Please fix the failing test in ledger.py.")
    rest(store)
    assert learned(store) == [LEDGER]


def test_statement_stays_unlearned_while_it_is_undone_and_a_redo_brings_it_back(
    store: MemoryStore, session: Session
) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    rest(store)
    assert learned(store) == []
    session.undo(None)
    session.take(IDLE)
    rest(store, after_ms=200_000)
    assert learned(store) == [LEDGER]


def test_stored_memory_is_taken_back_and_what_it_replaced_comes_back(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", "Always run `make lint` before you commit.")
    rest(store)
    session.say("msg_2", "You no longer need to run `make lint` before you commit.")
    rest(store, after_ms=200_000)
    assert learned(store) == ["You no longer need to run `make lint` before you commit."]
    session.undo("msg_2")
    session.go_on("msg_2", message="msg_3", text="Please fix the failing test in ledger.py.")
    assert learned(store) == ["Always run `make lint` before you commit."]


def test_several_undone_memories_of_one_subject_are_all_taken_back(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", "Always run `make lint` before you commit.")
    session.say("msg_2", "You no longer need to run `make lint` before you commit.")
    rest(store)
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", message="msg_3", text="Please fix the failing test in ledger.py.")
    assert store.list(project="*", status=list(Status)) == []


def test_taking_back_can_be_reversed(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text="Please fix the failing test in ledger.py.")
    assert learned(store) == []
    [operation] = store.operations.list(undone=True)
    store.operations.redo(operation.operation)
    assert learned(store) == [LEDGER]


def test_memory_of_the_agent_is_taken_back_with_its_message(store: MemoryStore, session: Session) -> None:
    source = Source(tool="opencode", session=SESSION, message="msg_2")
    agent = store.acting_as("agent")
    agent.remember("The deploy key lies in the vault of the harbor.", source=source, trust="agent")
    kept = agent.remember(
        "The crane has two drivers.", source=Source(tool="opencode", session=SESSION, message="msg_0")
    )
    session.say("msg_1", "Please remember where the key is.")
    session.undo("msg_1")
    session.remove("msg_1", "msg_2")
    assert [memory.id for memory in store.list(project="*")] == [kept.id]


@pytest.mark.parametrize("change", ["edit", "pin"])
def test_memory_that_a_person_changed_since_stays(store: MemoryStore, session: Session, change: str) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    store.pin(memory.id) if change == "pin" else store.edit(memory.id, content="The ledger is in PostgreSQL 17.")
    changed = store.get(memory.id)
    session.undo("msg_1")
    session.remove("msg_1")
    assert store.list(project="*") == [changed]


def test_message_that_is_removed_without_an_undo_is_still_learned(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.remove("msg_1")
    rest(store)
    assert learned(store) == [LEDGER]


def test_summary_names_no_undone_request(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", "Please rewrite the whole parser in Haskell for me.")
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text="Please fix the failing test in ledger.py.")
    session.edit("msg_3", tmp_path / "ledger.py")
    rest(store)
    [summary] = store.list(project="*", category="conversation")
    assert "failing test" in summary.content
    assert "Haskell" not in summary.content


def reconnect(store: MemoryStore, session: Session, folder: Path) -> Session:
    """Start OpenCode again: its plugin has a new connection, which has seen no event of the session."""
    again = copy(session)
    again.live = LiveLearning(store, projects=ProjectResolver(store, {}), switches=Switches(), rest_seconds=60)
    return again


def project_of(store: MemoryStore, folder: Path) -> str | None:
    return ProjectResolver(store, {}).of_session(str(folder))


NEXT = "Please fix the failing test in ledger.py."


@pytest.mark.parametrize("is_stored", [True, False], ids=["stored", "pending"])
def test_undo_is_known_after_a_restart(store: MemoryStore, session: Session, tmp_path: Path, is_stored: bool) -> None:
    session.say("msg_1", LEDGER)
    if is_stored:
        rest(store)
    session.undo("msg_1")
    again = reconnect(store, session, tmp_path)
    again.go_on("msg_1", message="msg_2", text=NEXT)
    rest(store, after_ms=200_000)
    assert learned(store) == []


def test_redo_is_noticed_after_a_restart(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    again = reconnect(store, session, tmp_path)
    again.undo(None)
    rest(store, after_ms=200_000)
    assert learned(store) == [LEDGER]


def test_session_rests_after_a_redo(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    rest(store)
    # OpenCode tells of a redo by the session alone.
    session.undo(None)
    rest(store, after_ms=500_000)
    assert learned(store) == [LEDGER]


def test_message_that_is_complete_only_after_its_undo_is_held(store: MemoryStore, session: Session) -> None:
    session.take(*said("msg_1", LEDGER, NOW_MS + 1))
    session.undo("msg_1")
    session.take(IDLE)
    rest(store)
    assert learned(store) == []


def test_two_texts_of_one_memory_are_both_taken_back(store: MemoryStore, session: Session) -> None:
    agent = store.acting_as("agent")
    for message, text in (("msg_0", "in the vault"), ("msg_2", "on the desk"), ("msg_4", "in the safe")):
        source = Source(tool="opencode", session=SESSION, message=message)
        agent.remember(f"The deploy key lies {text}.", topic="deploy key", source=source, trust="agent")
    session.say("msg_1", "Please remember where the key is.")
    session.undo("msg_1")
    session.go_on("msg_1", "msg_2", "msg_3", "msg_4", message="msg_5", text=NEXT)
    assert learned(store) == ["The deploy key lies in the vault."]


def test_memory_that_an_undone_one_replaced_later_comes_back(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    told = messages(user("Always run the linter before you commit."), of="z", at=NOW_MS - 99)
    info = SessionInfo(id="ses_z", directory=str(tmp_path))
    process(store, info, told, project=project_of(store, tmp_path))
    [rule] = [memory.id for memory in store.list(project="*")]
    store.indexes.embed_pending()
    session.say("msg_1", "Please always run linter before you commit.")
    rest(store)
    # The comparison of vectors replaces a repetition, in an operation of its own.
    store.indexes.embed_pending()
    assert store.get(rule).status is Status.SUPERSEDED
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=NEXT)
    assert store.get(rule).status is Status.ACTIVE


def test_reader_that_read_a_message_before_its_undo_learns_nothing(
    store: MemoryStore, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session(SESSION)
        fake.user(SESSION, "msg_1", LEDGER, at=1_000)
        fake.agent(SESSION, "msg_2", "Done.", at=1_001)
        read = OpenCodeDatabase.messages

        def messages(database: OpenCodeDatabase, *place: Any, **options: Any) -> Page:
            page = read(database, *place, **options)
            monkeypatch.setattr(OpenCodeDatabase, "messages", read)
            session.undo("msg_1")
            session.remove("msg_1", "msg_2")
            session.undo(None)
            return page

        monkeypatch.setattr(OpenCodeDatabase, "messages", messages)
        make_reader(store, fake.path).read(at_ms=LATE_MS)
    assert learned(store) == []


def test_summary_is_written_only_when_nothing_is_undone(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    session.say("msg_1", "Please rewrite the whole parser in Haskell for me.")
    session.edit("msg_3", tmp_path / "ledger.py")
    session.undo("msg_1")
    rest(store)
    assert learned(store) == []
    session.undo(None)
    session.take(IDLE)
    rest(store, after_ms=200_000)
    assert any("Haskell" in text for text in learned(store))


def test_purge_leaves_other_statements_that_are_not_stored_yet(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    session.say("msg_2", RULE)
    [memory] = store.list(project="*")
    store.purge(memory.id)
    rest(store, after_ms=LATER_MS)
    assert learned(store) == [RULE]


def test_purge_erases_the_text_from_the_state_of_a_fork(store: MemoryStore, tmp_path: Path, data_dir: Path) -> None:
    blocked = "We are blocked: the missing Zanzibar credentials stop every deployment."
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        for session, first in (("ses_original", 1), ("ses_fork", 11)):
            fake.session(session)
            fake.user(session, f"msg_{first}", blocked, at=1_000)
            fake.agent(session, f"msg_{first + 1}", "Done.", at=1_001)
            make_reader(store, fake.path).read(at_ms=LATE_MS)
    [memory] = store.list(project="*")
    assert "Zanzibar" in store.learning.open("ses_fork")[1]
    store.purge(memory.id)
    assert files_holding(data_dir, "Zanzibar") == []


def test_purge_of_an_undone_blocker_erases_its_text(store: MemoryStore, session: Session, data_dir: Path) -> None:
    session.say("msg_1", "We are blocked: the missing Zanzibar credentials stop every deployment.")
    rest(store)
    [memory] = store.list(project="*", category="blocker")
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=NEXT)
    store.purge(memory.id)
    assert files_holding(data_dir, "Zanzibar") == []


def test_state_is_written_before_memories_are_taken_back(
    store: MemoryStore, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    with monkeypatch.context() as patched:
        patched.setattr(LearningState, "write", fail)
        with pytest.raises(RuntimeError):
            session.undo("msg_1")
    # The process died. The memory is still there, and nothing says otherwise.
    assert learned(store) == [LEDGER]
    again = reconnect(store, session, tmp_path)
    again.undo("msg_1")
    again.go_on("msg_1", message="msg_2", text=LEDGER)
    rest(store, after_ms=300_000)
    [memory] = store.list(project="*")
    assert memory.source.message == "msg_2"


def test_statement_that_the_person_stores_again_stays(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", LEDGER)
    rest(store)
    [memory] = store.list(project="*")
    assert store.acting_as("user").remember(LEDGER, project=memory.project, category=memory.category).id == memory.id
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=NEXT)
    assert learned(store) == [LEDGER]


def test_undone_role_play_is_over(store: MemoryStore, session: Session) -> None:
    session.say("msg_1", "Let's role play: you are a pirate captain and I am the cook.")
    session.undo("msg_1")
    session.go_on("msg_1", message="msg_2", text=LEDGER)
    rest(store)
    assert learned(store) == [LEDGER]


@pytest.mark.parametrize("id_", ["", "msg_" + "9" * 600_000])
def test_id_that_no_message_can_have_undoes_nothing(store: MemoryStore, session: Session, id_: str) -> None:
    session.say("msg_1", LEDGER)
    session.undo("msg_1")
    session.remove(id_)
    session.undo(id_)
    session.take(IDLE)
    rest(store)
    assert learned(store) == [LEDGER]


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("killed")


class TestDatabase:
    """Sessions that are read from OpenCode's database."""

    @pytest.fixture
    def fake(self, tmp_path: Path) -> Iterator[FakeOpenCode]:
        with FakeOpenCode(tmp_path / "opencode.db") as fake:
            fake.session("ses_1")
            fake.user("ses_1", "msg_1", LEDGER, at=1_000)
            fake.agent("ses_1", "msg_2", "Done.", at=1_001)
            fake.user("ses_1", "msg_3", RULE, at=1_002)
            fake.agent("ses_1", "msg_4", "Done.", at=1_003)
            yield fake

    def undo(self, fake: FakeOpenCode, message: str | None, *, at: int) -> None:
        revert = None if message is None else json.dumps({"messageID": message})
        fake.connection.execute("UPDATE session SET revert = ?, time_updated = ?", (revert, at))

    def read(self, store: MemoryStore, fake: FakeOpenCode, **options: Any) -> list[str]:
        make_reader(store, fake.path, **options).read(at_ms=LATE_MS)
        return sorted(learned(store))

    def test_undone_message_is_not_read_until_it_is_redone(self, store: MemoryStore, fake: FakeOpenCode) -> None:
        self.undo(fake, "msg_3", at=2_000)
        assert self.read(store, fake) == [LEDGER]
        self.undo(fake, None, at=3_000)
        assert self.read(store, fake) == sorted([LEDGER, RULE])

    def test_message_that_is_undone_after_it_was_read_waits(self, store: MemoryStore, fake: FakeOpenCode) -> None:
        # It does not rest yet, so the last statement is pending.
        assert self.read(store, fake, rest_ms=2 * LATE_MS) == [LEDGER]
        self.undo(fake, "msg_3", at=2_000)
        assert self.read(store, fake) == [LEDGER]
        self.undo(fake, None, at=3_000)
        assert self.read(store, fake) == sorted([LEDGER, RULE])

    def test_message_that_was_removed_after_its_undo_is_forgotten(self, store: MemoryStore, fake: FakeOpenCode) -> None:
        self.read(store, fake, rest_ms=2 * LATE_MS)
        self.undo(fake, "msg_3", at=2_000)
        self.read(store, fake)
        fake.connection.execute("DELETE FROM message WHERE id IN ('msg_3', 'msg_4')")
        self.undo(fake, None, at=3_000)
        fake.user("ses_1", "msg_5", "Please fix the failing test in ledger.py.", at=3_001)
        assert self.read(store, fake) == [LEDGER]

    def test_undo_of_the_end_of_a_message_undoes_no_message(self, store: MemoryStore, fake: FakeOpenCode) -> None:
        revert = json.dumps({"messageID": "msg_4", "partID": "prt_msg_4_001"})
        fake.connection.execute("UPDATE session SET revert = ?", (revert,))
        assert self.read(store, fake) == sorted([LEDGER, RULE])

    def test_copy_of_a_database_without_the_newest_messages_forgets_nothing(
        self, store: MemoryStore, fake: FakeOpenCode, tmp_path: Path
    ) -> None:
        with closing(sqlite3.connect(tmp_path / "copy.db")) as copied:
            fake.connection.backup(copied)
            copied.execute("DELETE FROM message WHERE id IN ('msg_3', 'msg_4')")
            copied.commit()
        self.read(store, fake, rest_ms=2 * LATE_MS)
        make_reader(store, tmp_path / "copy.db", rest_ms=2 * LATE_MS).read(at_ms=LATE_MS)
        fake.user("ses_1", "msg_5", NEXT, at=3_001)
        assert self.read(store, fake) == sorted([LEDGER, RULE])

    def test_message_that_was_removed_between_two_readings_is_forgotten(
        self, store: MemoryStore, fake: FakeOpenCode
    ) -> None:
        self.read(store, fake, rest_ms=2 * LATE_MS)
        fake.connection.execute("DELETE FROM message WHERE id IN ('msg_3', 'msg_4')")
        self.undo(fake, None, at=3_000)
        fake.user("ses_1", "msg_5", NEXT, at=3_001)
        assert self.read(store, fake) == [LEDGER]
