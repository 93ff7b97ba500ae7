"""Sessions and messages from OpenCode's database, beside an OpenCode that goes on writing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.hosts.opencode.feed import sqlite_reader
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase, default_database
from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Feedback,
    SessionInfo,
    ToolCall,
    ToolStatus,
    UserText,
)
from support.opencode import (
    FIRST_ENGINE,
    FORKS,
    LONG_AFTER_MS,
    SECOND_ENGINE,
    FakeOpenCode,
    all_messages,
    said,
)


def timed_events_of(path: Path, title: str):
    with OpenCodeDatabase(path) as database:
        (session,) = [head.info.id for head in database.sessions() if head.info.title == title]
        return [event for message in all_messages(database, session) for event in message.events]


def events_of(path: Path, title: str):
    return [
        replace(event, begun_ms=0, ended_ms=0) if isinstance(event, ToolCall) else event
        for event in timed_events_of(path, title)
    ]


def bash(command, description, **more: Any):
    return ToolCall(tool="bash", input={"command": command, "description": description}, **more)


class TestWhatTheRealOneWrote:
    def test_sessions_have_their_folders_and_parents(self):
        with OpenCodeDatabase(FIRST_ENGINE) as database:
            infos = [head.info for head in database.sessions()]
        main = "ses_dff79dd21ffeLSf0mYTHbyR5dg"
        folder = "/home/dev/oc-fixture/project"
        assert infos == [
            SessionInfo(
                id="ses_dff79827fffe1wAAOSZCkxiHLe",
                directory=folder,
                parent=main,
                title="Look at tests (@general subagent)",
            ),
            SessionInfo(id=main, directory=folder, title="Fix the failing adder test"),
            SessionInfo(id="ses_dff79753fffeq25o7i7dQCOfDO", directory=folder, title="Trouble"),
        ]

    def test_a_failing_command_the_edit_and_the_passing_command_come_in_order(self):
        told = events_of(FIRST_ENGINE, "Fix the failing adder test")
        project = "/home/dev/oc-fixture/project"
        assert told[0] == UserText(text="The test test_adder.py fails. Please fix it.")
        assert told[1] == AssistantText(text="I will check my notes and run the test.")
        assert told[2] == ToolCall(tool="mem_recall", input={"query": "build"}, output="The build needs `make -j1`.")
        assert told[3] == bash("python3 test_adder.py", "Run the test", exit=2, output="FAIL: add(2, 3) = -1\n")
        assert (told[4].tool, told[4].input) == ("read", {"filePath": f"{project}/adder.py"})
        edit = {"filePath": f"{project}/adder.py", "oldString": "a - b", "newString": "a + b"}
        assert told[5] == ToolCall(tool="edit", input=edit, output="Edit applied successfully.")
        assert told[6] == bash("python3 test_adder.py", "Run the test again", exit=0, output="ok\n")
        assert told[7:9] == [
            AssistantText(text="The bug was a minus sign in adder.py; the test passes now."),
            UserText(text="No, don't use tabs. We always use four spaces in this repo. Write that down."),
        ]
        failed = [event.tool for event in told if isinstance(event, ToolCall) and event.status is ToolStatus.ERROR]
        assert failed == ["edit", "read", "mem_fail", "grep"]
        assert told[-3:] == [
            Compaction(summary="Scripted summary of the session so far."),
            UserText(text="What did we do?"),
            AssistantText(text="We fixed adder.py and wrote NOTES.md."),
        ]

    def test_calls_of_tools_have_their_times(self):
        told = timed_events_of(FIRST_ENGINE, "Fix the failing adder test")
        calls = [event for event in told if isinstance(event, ToolCall)]
        assert all(0 < call.begun_ms <= call.ended_ms < call.begun_ms + 60_000 for call in calls)

    def test_commands_that_were_aborted_or_took_too_long_have_no_exit_code(self):
        told = events_of(FIRST_ENGINE, "Trouble")
        aborted = "started\n\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
        assert told[:4] == [
            UserText(text="sleep please"),
            AssistantText(text="Sleeping now"),
            bash("echo started; sleep 30", "Sleep", output=aborted),
            UserText(text="provoke an API error"),
        ]
        assert (told[5].exit, told[5].input["command"]) == (None, "sleep 5")

    def test_feedback_is_read_and_attached_text_is_not(self):
        told = events_of(FORKS, "Scripted session (fork #1)")
        refused = {"command": "rm -rf build && ./deploy.sh", "description": "Deploy"}
        assert Feedback(tool="bash", input=refused, text="No, always deploy with make deploy") in told
        assert "always use tabs" not in repr(told)
        assert ToolCall(tool="bash", input={"command": "echo hi; exit 3"}, output="hi\n") in told

    def test_quotes_of_opencode_run_are_removed(self):
        with OpenCodeDatabase(FORKS) as database:
            sessions = [head.info.id for head in database.sessions()][-2:]
            told = [all_messages(database, session)[0].events for session in sessions]
        assert told == [(UserText(text="two words"),), (UserText(text='say "quoted" now'),)]

    def test_copies_in_forks_have_the_digests_of_their_originals(self):
        with OpenCodeDatabase(FORKS) as database:
            heads = {head.info.title: head.info.id for head in database.sessions() if "fork" in head.info.title}
            roots = {head.info.id for head in database.sessions()} - set(heads.values())
            originals = [message for session in roots for message in all_messages(database, session)]
            fork = all_messages(database, heads["Scripted session (fork #1)"])
            second = all_messages(database, heads["Scripted session (fork #2)"])
        known = {message.digest for message in originals}
        assert len(known) == len(originals)
        assert [message.digest in known for message in fork] == [True] * 24 + [False] * 2
        assert said(fork[24:]) == ["more in the fork", "Done."]
        assert [message.digest for message in second] == [message.digest for message in fork[:5]]
        assert not {message.id for message in fork} & {message.id for message in originals}

    def test_killed_and_continued_session_is_read_to_its_end(self):
        told = events_of(FORKS, "Trouble")
        assert told[-4:] == [
            UserText(text="hang now"),
            UserText(text="queued while it hangs"),
            UserText(text="after the kill"),
            AssistantText(text="Done."),
        ]

    def test_the_second_engine_tells_the_same_kinds_of_events(self):
        title = "New session - 2026-11-22T00:02:02.715Z"
        told = events_of(SECOND_ENGINE, title)
        assert told[0] == UserText(text="The test test_adder.py fails. Please fix it.")
        assert told[2] == bash("python3 test_adder.py", "Run the test", exit=2, output="FAIL: add(2, 3) = -1\n")
        assert told[3].output == "def add(a, b):\n    return a - b\n"
        assert (told[4].tool, told[4].input["newString"]) == ("edit", "a + b")
        assert told[5] == bash("python3 test_adder.py", "Run the test again", exit=0, output="ok\n")
        assert UserText(text="No, don't use tabs. We always use four spaces in this repo. Write that down.") in told
        failed = [event for event in told if isinstance(event, ToolCall) and event.status is ToolStatus.ERROR]
        assert failed[-1] == bash(
            "echo started; sleep 30", "Sleep", status=ToolStatus.ERROR, error="Tool execution interrupted"
        )
        assert "Could not find oldString" in failed[0].error

    @pytest.mark.parametrize("path", [FIRST_ENGINE, SECOND_ENGINE, FORKS])
    def test_small_pages_tell_the_same_as_large_ones(self, path):
        with OpenCodeDatabase(path) as database:
            for head in list(database.sessions()):
                whole = all_messages(database, head.info.id)
                assert [all_messages(database, head.info.id, limit=size) for size in (1, 3)] == [whole, whole]


class TestSessions:
    def test_the_one_that_was_active_longest_ago_comes_first(self, opencode, database):
        for name, at in (("ses_b", 300), ("ses_a", 200), ("ses_c", 100)):
            opencode.user(opencode.session(name, at=1), f"msg_{name}", "x", at=at)
        assert [(head.info.id, head.active_ms) for head in database.sessions()] == [
            ("ses_c", 100),
            ("ses_a", 200),
            ("ses_b", 300),
        ]

    def test_session_without_messages_is_not_listed(self, opencode, database):
        opencode.session("ses_empty")
        assert list(database.sessions()) == []

    def test_only_changed_sessions_are_listed_again(self, opencode, database):
        for name in ("ses_a", "ses_b", "ses_c", "ses_d"):
            opencode.user(opencode.session(name), f"msg_{name}", "x", at=5)
        opencode.agent("ses_c", "msg_reply", "unfinished", at=6, is_finished=False)
        marks = {head.info.id: head.mark for head in database.sessions()}
        assert list(database.sessions(marks)) == []
        opencode.user("ses_b", "msg_new", "more", at=2)
        opencode.finish("msg_reply", at=9)
        opencode.user(opencode.session("ses_new"), "msg_first", "x", at=1)
        assert {head.info.id for head in database.sessions(marks)} == {"ses_b", "ses_c", "ses_new"}

    def test_message_finished_before_a_queued_prompt_changes_the_mark(self, opencode, database):
        opencode.session("ses_a")
        opencode.agent("ses_a", "msg_1", "unfinished", at=1, is_finished=False)
        opencode.user("ses_a", "msg_2", "queued", at=50)
        marks = {head.info.id: head.mark for head in database.sessions()}
        opencode.finish("msg_1", at=60)
        assert [head.info.id for head in database.sessions(marks)] == ["ses_a"]

    def test_messages_taken_back_and_written_anew_change_the_mark(self, opencode, database):
        opencode.user(opencode.session("ses_a"), "msg_1", "x", at=1)
        marks = {head.info.id: head.mark for head in database.sessions()}
        opencode.connection.execute("DELETE FROM message")
        opencode.user("ses_a", "msg_2", "y", at=2)
        assert [head.info.id for head in database.sessions(marks)] == ["ses_a"]

    def test_many_sessions_are_listed_once_each(self, opencode, database):
        for number in range(250):
            opencode.user(opencode.session(f"ses_{number}", at=number), f"msg_{number}", "x", at=number)
        assert [head.info.id for head in database.sessions()] == [f"ses_{number}" for number in range(250)]

    def test_listing_them_reads_no_message(self, opencode, monkeypatch):
        opencode.agent(opencode.session("ses_a"), "msg_1", "x", at=1)
        read = set()

        def watched(*arguments: Any, **options: Any):
            connection = sqlite3.Connection(*arguments, **options)

            def note(action, table, column, *_: object):
                read.add((table, column))
                return sqlite3.SQLITE_OK

            connection.set_authorizer(note)
            return connection

        monkeypatch.setattr(sqlite_reader.sqlite3, "connect", watched)
        with OpenCodeDatabase(opencode.path) as database:
            assert len(list(database.sessions())) == 1
        assert ("message", "time_updated") in read
        assert ("message", "data") not in read
        assert not {column for table, column in read if table == "part"}


class TestBothEngines:
    def test_session_of_both_engines_is_read_once_and_completely(self, opencode, database):
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1)
        opencode.agent("ses_a", "msg_2", "two", at=2)
        first = database.messages("ses_a", None, now_ms=LONG_AFTER_MS)
        migrated = {"text": "one", "time": {"created": 1}}
        opencode.second("ses_a", "msg_1", "user", migrated, seq=1, at=1)
        opencode.second("ses_a", "msg_2", "assistant", {"content": [], "time": {"completed": 2}}, seq=2, at=2)
        opencode.second("ses_a", "msg_3", "user", {"text": "three", "time": {"created": 3}}, seq=5, at=3)
        assert len(list(database.sessions())) == 1
        assert said(all_messages(database, "ses_a", limit=1)) == ["one", "two", "three"]
        second = database.messages("ses_a", first.cursor, now_ms=LONG_AFTER_MS)
        assert said(second.messages) == ["three"]
        # And back again with the older program.
        opencode.user("ses_a", "msg_4", "four", at=4)
        assert said(database.messages("ses_a", second.cursor, now_ms=LONG_AFTER_MS).messages) == ["four"]

    def test_tables_of_version_two_are_found_with_and_without_old_ones(self, tmp_path):
        path = tmp_path / "two.db"
        with FakeOpenCode(path) as opencode:
            opencode.user(opencode.session("ses_old", title="Left behind"), "msg_1", "one", at=1)
            opencode.session("ses_both", title="Stale title")
            opencode.connection.execute("CREATE TABLE session_v2 AS SELECT * FROM session WHERE false")
            opencode.connection.execute("PRAGMA foreign_keys=OFF")
            for name, title in (("ses_both", "New title"), ("ses_new", "Begun there")):
                opencode.session(name, title=title, table="session_v2")
                opencode.second(name, f"msg_{name}", "user", {"text": name, "time": {"created": 5}}, seq=1, at=5)
            with OpenCodeDatabase(path) as database:
                heads = list(database.sessions())
                assert [head.info.title for head in heads] == ["New title", "Begun there", "Left behind"]
                marks = {head.info.id: head.mark for head in heads}
                changed = {"content": [], "time": {"created": 6}}
                opencode.second("ses_new", "msg_more", "assistant", changed, seq=2, at=6)
                assert [head.info.id for head in database.sessions(marks)] == ["ses_new"]
                for table in ("part", "message", "session"):
                    opencode.connection.execute(f"DROP TABLE {table}")
                assert {head.info.title for head in database.sessions()} == {"New title", "Begun there"}
                assert said(all_messages(database, "ses_both")) == ["ses_both"]

    def test_a_message_of_the_second_engine_that_grows_in_place_ends_the_page(self, opencode, database):
        opencode.second(
            opencode.session("ses_a"), "msg_1", "user", {"text": "one", "time": {"created": 1}}, seq=1, at=1
        )
        growing = {"content": [{"type": "text", "text": "two"}], "time": {"created": 2}}
        opencode.second("ses_a", "msg_2", "assistant", growing, seq=2, at=2)
        page = database.messages("ses_a", None, now_ms=1_000)
        marks = {head.info.id: head.mark for head in database.sessions()}
        assert (said(page.messages), page.waits) == (["one"], True)
        done = json.dumps(growing | {"finish": "stop", "time": {"created": 2, "completed": 3}})
        opencode.connection.execute("UPDATE session_message SET data = ?, time_updated = 3 WHERE id = 'msg_2'", (done,))
        assert [head.info.id for head in database.sessions(marks)] == ["ses_a"]
        assert said(database.messages("ses_a", page.cursor, now_ms=1_000).messages) == ["two"]


class TestTheWrongFile:
    def test_a_missing_one_is_named(self, tmp_path):
        with pytest.raises(StorageError, match=r"no database at .*opencode\.db"):
            OpenCodeDatabase(tmp_path / "opencode.db")

    @pytest.mark.parametrize(
        "schema", ["", "CREATE TABLE notes (id)", "CREATE TABLE session (id); CREATE TABLE message (id, text)"]
    )
    def test_a_database_of_another_program_is_refused(self, tmp_path, schema):
        with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
            connection.executescript(schema)
        with pytest.raises(InvalidInputError, match=r"other\.db is not a database of OpenCode") as caught:
            OpenCodeDatabase(tmp_path / "other.db")
        assert caught.value.hint

    def test_columns_that_another_version_does_not_have_are_done_without(self, tmp_path):
        path = tmp_path / "old.db"
        shutil.copyfile(FIRST_ENGINE, path)
        with closing(sqlite3.connect(path)) as connection:
            for column in ("parent_id", "title", "time_updated"):
                connection.execute("DROP INDEX IF EXISTS session_parent_idx")
                connection.execute(f"ALTER TABLE session DROP COLUMN {column}")
            connection.execute("DROP TABLE session_message")
            connection.execute("DROP INDEX message_session_time_created_id_idx")
        with OpenCodeDatabase(path) as database:
            heads = list(database.sessions())
            assert [len(all_messages(database, head.info.id)) for head in heads] == [2, 15, 7]
            assert {(head.info.title, head.info.parent) for head in heads} == {("", None)}


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"HOME": "/h"}, "/h/.local/share/opencode/opencode.db"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/opencode/opencode.db"),
        ({"HOME": "/h", "XDG_DATA_HOME": ""}, "/h/.local/share/opencode/opencode.db"),
        ({"USERPROFILE": "/u"}, "/u/.local/share/opencode/opencode.db"),
        ({"HOME": "/h", "OPENCODE_DB": "/elsewhere/x.db"}, "/elsewhere/x.db"),
        ({"HOME": "/h", "OPENCODE_DB": "work.db"}, "/h/.local/share/opencode/work.db"),
        ({"XDG_DATA_HOME": "/d", "OPENCODE_DB": "work.db"}, "/d/opencode/work.db"),
        ({"OPENCODE_DB": "/elsewhere/x.db"}, "/elsewhere/x.db"),
        ({"HOME": "/h", "OPENCODE_DB": ":memory:"}, None),
        ({}, None),
    ],
)
def test_the_place_of_the_database_is_where_opencode_looks_for_it(environment, place):
    assert default_database(environment) == (Path(place) if place else None)


def test_schema_that_is_not_utf_8_is_refused_as_damage(tmp_path: Path) -> None:
    file = tmp_path / "opencode.db"
    file.write_bytes(FIRST_ENGINE.read_bytes().replace(b"PRIMARY KEY", b"PRIMARY KE\x80"))
    with pytest.raises(StorageError, match="its schema is not UTF-8") as raised:
        OpenCodeDatabase(file)
    assert "the file is damaged" in (raised.value.hint or "")


class TestReadMessages:
    def test_messages_of_several_sessions_are_read_at_once(self, opencode, database):
        for session in ("ses_1", "ses_2"):
            opencode.session(session)
            opencode.user(session, f"msg_{session}", f"Said in {session}.", at=1_000)
        opencode.second(
            "ses_2", "msg_second", "user", {"text": "Said later.", "time": {"created": 2_000}}, seq=1, at=2_000
        )
        wanted = {"ses_1": ["msg_ses_1", "msg_unknown"], "ses_2": ["msg_second", "msg_ses_2"]}
        found, _ = database.read_messages(wanted, now_ms=LONG_AFTER_MS)
        assert {place: said([message]) for place, message in found.items()} == {
            ("ses_1", "msg_ses_1"): ["Said in ses_1."],
            ("ses_2", "msg_ses_2"): ["Said in ses_2."],
            ("ses_2", "msg_second"): ["Said later."],
        }

    def test_message_is_not_found_in_another_session(self, opencode, database):
        for session in ("ses_1", "ses_2"):
            opencode.session(session)
        opencode.user("ses_1", "msg_1", "Said in the first.", at=1_000)
        assert database.read_messages({"ses_2": ["msg_1"]}, now_ms=LONG_AFTER_MS)[0] == {}

    def test_message_with_very_many_parts_leaves_room_for_those_of_others(self, opencode, database):
        opencode.session("ses_1")
        info = {"role": "user", "time": {"created": 1_000}}
        opencode.message("ses_1", "msg_1", info, [{"type": "text", "text": "much"}] * 2_100, at=1_000)
        opencode.user("ses_1", "msg_2", "Said beside it.", at=2_000)
        found, _ = database.read_messages({"ses_1": ["msg_1", "msg_2"]}, now_ms=LONG_AFTER_MS)
        assert said([found["ses_1", "msg_2"]]) == ["Said beside it."]
        assert len(found["ses_1", "msg_1"].events) == 2_000
