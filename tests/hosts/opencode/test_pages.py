"""Reading a session page by page: complete, late and invalid messages."""

from __future__ import annotations

import sqlite3
import threading
import tracemalloc
from contextlib import closing

import pytest

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.learning.extraction.events import LONGEST_TEXT, AssistantText, Message, ToolCall
from support.opencode import LONG_AFTER_MS, FakeOpenCode, all_messages, page_ids, said


class TestPages:
    def test_messages_that_are_added_to_an_old_session_come_behind_the_cursor(self, opencode, database):
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1)
        opencode.agent("ses_a", "msg_2", "two", at=2)
        first = database.messages("ses_a", None, now_ms=LONG_AFTER_MS)
        assert (said(first.messages), first.is_end) == (["one", "two"], True)
        assert database.messages("ses_a", first.cursor, now_ms=LONG_AFTER_MS).messages == ()
        opencode.user("ses_a", "msg_3", "three", at=3)
        later = database.messages("ses_a", first.cursor, now_ms=LONG_AFTER_MS)
        assert (said(later.messages), later.is_end, later.waits) == (["three"], True, False)

    def test_a_session_that_is_imported_with_old_ids_is_found(self, opencode, database):
        opencode.user(opencode.session("ses_b"), "msg_5", "five", at=5)
        assert page_ids(database.messages("ses_b", None, now_ms=LONG_AFTER_MS)) == ["msg_5"]
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1)
        assert page_ids(database.messages("ses_a", None, now_ms=LONG_AFTER_MS)) == ["msg_1"]

    def test_messages_with_equal_times_are_ordered_by_id(self, opencode, database):
        opencode.session("ses_a")
        for name in ("msg_c", "msg_a", "msg_b"):
            opencode.agent("ses_a", name, name, at=7)
        assert [message.id for message in all_messages(database, "ses_a", limit=1)] == ["msg_a", "msg_b", "msg_c"]

    def test_an_incomplete_message_ends_the_page_and_comes_when_it_is_finished(self, opencode, database):
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1_000)
        opencode.agent("ses_a", "msg_2", "two", at=2_000, is_finished=False)
        opencode.user("ses_a", "msg_3", "queued", at=3_000)
        page = database.messages("ses_a", None, now_ms=4_000)
        assert (page_ids(page), page.is_end, page.waits) == (["msg_1"], True, True)
        opencode.finish("msg_2", at=5_000)
        page = database.messages("ses_a", page.cursor, now_ms=6_000)
        assert (page_ids(page), page.waits) == (["msg_2"], True)
        page = database.messages("ses_a", page.cursor, now_ms=70_000)
        assert (page_ids(page), page.waits) == (["msg_3"], False)

    def test_abandoned_message_is_read_after_a_later_finished_one(self, opencode, database):
        opencode.agent(opencode.session("ses_a"), "msg_1", "half", at=1_000, is_finished=False)
        opencode.user("ses_a", "msg_2", "go on", at=2_000)
        opencode.agent("ses_a", "msg_3", "again", at=3_000, is_finished=False)
        assert page_ids(database.messages("ses_a", None, now_ms=4_000)) == []
        opencode.finish("msg_3", at=5_000)
        assert page_ids(database.messages("ses_a", None, now_ms=5_000)) == ["msg_1", "msg_2", "msg_3"]

    def test_a_part_that_changes_keeps_an_unfinished_message_alive(self, opencode, database):
        hour = 3_600_000
        opencode.agent(opencode.session("ses_a"), "msg_1", "half", at=1, is_finished=False)
        opencode.part("ses_a", "msg_1", "prt_last", {"type": "text", "text": "more"}, at=hour)
        assert database.messages("ses_a", None, now_ms=2 * hour - 1).waits
        assert page_ids(database.messages("ses_a", None, now_ms=2 * hour)) == ["msg_1"]

    def test_forked_message_waits_for_its_last_part(self, opencode, database):
        opencode.session("ses_fork")
        info = {"role": "assistant", "finish": "stop", "time": {"created": 1, "completed": 2}}
        now = 1_000_000
        opencode.message("ses_fork", "msg_1", info, [{"type": "text", "text": "I run it."}], at=1, touched=now)
        assert database.messages("ses_fork", None, now_ms=now + 1).waits
        call = {"type": "tool", "tool": "bash", "state": {"status": "completed", "input": {}}}
        opencode.part("ses_fork", "msg_1", "prt_z1", call, at=now + 2)
        opencode.part("ses_fork", "msg_1", "prt_z2", {"type": "step-finish"}, at=now + 3)
        (message,) = database.messages("ses_fork", None, now_ms=now + 3).messages
        assert message.events == (AssistantText(text="I run it."), ToolCall(tool="bash"))

    def test_prompt_inserted_before_read_messages_restarts_the_session(self, opencode, database):
        opencode.agent(opencode.session("ses_a"), "msg_1", "one", at=1)
        opencode.agent("ses_a", "msg_3", "three", at=3)
        page = database.messages("ses_a", None, now_ms=LONG_AFTER_MS)
        opencode.user("ses_a", "msg_2", "two, from the queue", at=2)
        page = database.messages("ses_a", page.cursor, now_ms=LONG_AFTER_MS)
        assert page_ids(page) == ["msg_1", "msg_2", "msg_3"]
        assert database.messages("ses_a", page.cursor, now_ms=LONG_AFTER_MS).messages == ()

    def test_messages_that_are_taken_back_leave_the_cursor_where_it_is(self, opencode, database):
        opencode.session("ses_1")
        for number in range(1, 5):
            opencode.agent("ses_1", f"msg_{number}", str(number), at=number)
        page = database.messages("ses_1", None, now_ms=LONG_AFTER_MS)
        opencode.connection.execute("DELETE FROM message WHERE id IN ('msg_3', 'msg_4')")
        page = database.messages("ses_1", page.cursor, now_ms=LONG_AFTER_MS)
        assert page.messages == ()
        opencode.agent("ses_1", "msg_5", "5", at=5)
        assert page_ids(database.messages("ses_1", page.cursor, now_ms=LONG_AFTER_MS)) == ["msg_5"]

    def test_a_page_is_no_longer_than_asked_for_and_says_whether_it_is_the_last(self, opencode, database):
        opencode.session("ses_a")
        for number in range(4):
            opencode.agent("ses_a", f"msg_{number}", "x", at=number + 1)
        first = database.messages("ses_a", None, now_ms=LONG_AFTER_MS, limit=2)
        second = database.messages("ses_a", first.cursor, now_ms=LONG_AFTER_MS, limit=2)
        assert [(page_ids(page), page.is_end) for page in (first, second)] == [
            (["msg_0", "msg_1"], False),
            (["msg_2", "msg_3"], True),
        ]
        with pytest.raises(InvalidInputError, match="limit"):
            database.messages("ses_a", None, now_ms=0, limit=0)

    def test_a_page_of_long_messages_ends_sooner(self, opencode, database):
        opencode.session("ses_a")
        for number in range(4):
            opencode.agent("ses_a", f"msg_{number}", "x" * 5_000_000, at=number + 1)
        page = database.messages("ses_a", None, now_ms=LONG_AFTER_MS)
        assert (page_ids(page), page.is_end) == (["msg_0", "msg_1"], False)
        assert len(all_messages(database, "ses_a")) == 4

    def test_unknown_session_has_no_messages(self, database):
        page = database.messages("ses_none", None, now_ms=LONG_AFTER_MS)
        assert (page.messages, page.cursor, page.is_end, page.waits) == ((), None, True, False)

    @pytest.mark.parametrize(
        "cursor", ["", "12", "[]", '{"v1": 3}', '{"v1": [1, 2, 3]}', '{"v9": [1, 1]}', '{"v2": ["x", 0]}', "nonsense"]
    )
    def test_with_a_cursor_of_another_version_a_session_begins_anew(self, opencode, database, cursor):
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1)
        assert page_ids(database.messages("ses_a", cursor, now_ms=LONG_AFTER_MS)) == ["msg_1"]

    def test_a_long_session_is_read_in_little_memory(self, opencode):
        opencode.session("ses_long")
        opencode.connection.execute("BEGIN")
        for number in range(5_000):
            opencode.agent("ses_long", f"msg_{number:05}", f"{number} " * 800, at=number + 1)
        opencode.connection.execute("COMMIT")
        count, cursor, is_end = 0, None, False
        tracemalloc.start()
        try:
            with OpenCodeDatabase(opencode.path) as database:
                while not is_end:
                    page = database.messages("ses_long", cursor, now_ms=LONG_AFTER_MS)
                    count, cursor, is_end = count + len(page.messages), page.cursor, page.is_end
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert count == 5_000
        assert opencode.connection.execute("SELECT sum(length(data)) FROM part").fetchone()[0] > 15_000_000
        assert peak < 4_000_000


class TestForeignRows:
    def test_rows_that_hold_no_message_do_not_stop_those_behind_them(self, opencode, database):
        opencode.session("ses_a")
        broken = ["", "{", "null", "[1]", '"text"', "3", "[" * 100_000, '{"role": 3}', '{"role": "user", "time": []}']
        for number, data in enumerate(broken):
            opencode.message("ses_a", f"msg_{number:02}", data, ["{", {}, {"type": "hologram"}, "null"], at=number + 1)
        opencode.user("ses_a", "msg_99", "after all of it", at=99)
        messages = all_messages(database, "ses_a", limit=3)
        assert len(messages) == len(broken) + 1
        assert said(messages) == ["after all of it"]
        assert [message.at_ms for message in messages] == [*range(1, len(broken) + 1), 99]

    def test_parts_that_are_broken_do_not_cost_those_beside_them(self, opencode, database):
        parts = ["{", {"type": "text", "text": "kept"}, '{"type": "tool", "tool": 3}', {"type": "step-finish"}]
        info = {"role": "assistant", "finish": "stop", "time": {"created": 1, "completed": 1}}
        opencode.message(opencode.session("ses_a"), "msg_1", info, parts, at=1)
        assert said(all_messages(database, "ses_a")) == ["kept"]

    def test_a_text_of_many_megabytes_is_cut_and_a_part_beyond_measure_is_left_out(self, opencode, database):
        info = {"role": "user", "time": {"created": 1}}
        parts = [{"type": "text", "text": "a" * 6_000_000}, {"type": "text", "text": "b" * 9_000_000}]
        opencode.message(opencode.session("ses_a"), "msg_1", info, parts, at=1)
        (text,) = said(all_messages(database, "ses_a"))
        assert len(text) <= LONGEST_TEXT + 3
        assert set(text) == {"a", "\n", "…"}

    def test_long_patches_do_not_hide_the_users_text(self, opencode, database):
        diffs = [{"file": "a.py", "patch": "+" * 1_000_000}]
        info = {"role": "user", "time": {"created": 1}, "summary": {"diffs": diffs}}
        opencode.message(opencode.session("ses_a"), "msg_1", info, [{"type": "text", "text": "kept"}], at=1)
        assert said(all_messages(database, "ses_a")) == ["kept"]

    def test_ids_and_times_that_are_no_such_thing_do_not_stop_the_session(self, opencode, database):
        opencode.session("ses_a")
        opencode.connection.execute("INSERT INTO message VALUES (CAST(x'6dff' AS TEXT), 'ses_a', 1, 'x', '{}')")
        opencode.connection.execute("INSERT INTO message VALUES (x'00ff', 'ses_a', 1, 1, '{}')")
        opencode.connection.execute("INSERT INTO message VALUES ('msg_3', 'ses_a', 'never', 'x', '{}')")
        opencode.connection.execute("INSERT INTO message VALUES ('msg_4', 'ses_a', 'never', 'x', '{}')")
        opencode.second("ses_a", "msg_5", "user", "{", seq="first", at=5)
        opencode.user("ses_a", "msg_2", "kept", at=2)
        assert said(all_messages(database, "ses_a", limit=1)) == ["kept"]
        assert [head.info.id for head in database.sessions()] == ["ses_a"]


class TestBesideARunningOpenCode:
    def test_every_message_comes_once_and_in_order_while_they_are_written(self, opencode):
        opencode.session("ses_a")
        written = threading.Event()

        def write() -> None:
            with closing(sqlite3.connect(opencode.path, isolation_level=None, timeout=30)) as connection:
                other = object.__new__(FakeOpenCode)
                other.path, other.connection = opencode.path, connection
                for number in range(0, 120, 2):
                    other.user("ses_a", f"msg_{number:03}", str(number), at=10 + number)
                    other.agent("ses_a", f"msg_{number + 1:03}", str(number + 1), at=11 + number, is_finished=False)
                    other.finish(f"msg_{number + 1:03}", at=11 + number)
            written.set()

        writer = threading.Thread(target=write)
        writer.start()
        found: list[Message] = []
        cursor, pages = None, 0
        with OpenCodeDatabase(opencode.path) as database:
            while True:
                was_written = written.is_set()
                page = database.messages("ses_a", cursor, now_ms=0, limit=7)
                found += page.messages
                cursor, pages = page.cursor, pages + 1
                if was_written and page.is_end:
                    break
        writer.join()
        assert said(found) == [str(number) for number in range(120)]
        assert pages > 2

    def test_closed_database_gets_no_wal_files(self, opencode):
        opencode.user(opencode.session("ses_a"), "msg_1", "one", at=1)
        opencode.close()
        with OpenCodeDatabase(opencode.path) as database:
            assert said(all_messages(database, "ses_a")) == ["one"]
            assert [path.name for path in opencode.path.parent.glob("opencode.db*")] == ["opencode.db"]
            # And then OpenCode is started.
            with closing(sqlite3.connect(opencode.path, isolation_level=None)) as connection:
                connection.execute("UPDATE part SET data = replace(data, 'one', 'changed')")
                assert said(all_messages(database, "ses_a")) == ["changed"]
