"""Complete messages out of the events of OpenCode's bus, as they happen."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.event_stream import Batch, LiveFeed, LiveLimits
from opencode_memory.learning.extraction.events import (
    LONGEST_TEXT,
    AssistantText,
    Compaction,
    Feedback,
    Message,
    SessionInfo,
    ToolCall,
    UserText,
)
from support.opencode import EVENTS, FORKS, all_messages

RECORDED = [json.loads(line) for line in EVENTS.read_text(encoding="utf-8").splitlines()]


def event(kind, session="ses_a", **properties: Any):
    return {"type": kind, "properties": {"sessionID": session} | properties}


def created(session="ses_a", kind="session.created", **more: Any):
    return event(kind, session, info={"id": session, "directory": "/home/ann/shop", "title": "A title"} | more)


def message(id, role, at, session="ses_a", **more: Any):
    info = {"id": id, "sessionID": session, "role": role, "time": {"created": at}} | more
    return event("message.updated", session, info=info)


def finished(id, at, session="ses_a", **more: Any):
    return message(id, "assistant", at, session, time={"created": at, "completed": at + 1}, finish="stop", **more)


def part(id, of, session="ses_a", **data: Any):
    return event("message.part.updated", session, part={"id": id, "messageID": of, "sessionID": session} | data)


def said(id, of, text, session="ses_a"):
    return part(id, of, session, type="text", text=text)


def end_of_step(of, session="ses_a"):
    return part(f"prt_{of}_z", of, session, type="step-finish")


def prompt(id, at, text, session="ses_a"):
    return [message(id, "user", at, session), said(f"prt_{id}", id, text, session)]


def answer(id, at, text, session="ses_a"):
    return [
        message(id, "assistant", at, session),
        part(f"prt_{id}_a", id, session, type="step-start"),
        said(f"prt_{id}_b", id, "", session),
        said(f"prt_{id}_b", id, text, session),
        end_of_step(id, session),
        finished(id, at, session),
    ]


def take(feed: LiveFeed, *events: Any) -> list[Batch]:
    return feed.take({"directory": "/home/ann/plugin", "events": list(events)})


def messages(batches: Iterable[Batch]) -> list[Message]:
    return [message for batch in batches for message in batch.messages]


def words(batches: Iterable[Batch]) -> list[str]:
    return [event.text for message in messages(batches) for event in message.events]


def by_session(batches: Iterable[Batch]) -> dict[str, list[Message | bool]]:
    found: dict[str, list[Message | bool]] = {}
    for batch in batches:
        found.setdefault(batch.session.id, []).extend(batch.messages)
        if batch.ended:
            found[batch.session.id].append(True)
    return found


def kept(feed: LiveFeed) -> int:
    return feed._characters


def test_turn_is_emitted_as_it_happens_and_ends_when_idle():
    feed = LiveFeed()
    assert take(feed, created(), *prompt("msg_1", 1, "fix it")) == []
    (batch,) = take(feed, message("msg_2", "assistant", 2))
    assert batch.session == SessionInfo(id="ses_a", directory="/home/ann/shop", title="A title")
    assert (words([batch]), batch.ended) == (["fix it"], False)
    assert words(take(feed, *answer("msg_2", 2, "fixed"))) == ["fixed"]
    assert take(feed, event("session.idle")) == [Batch(session=batch.session, messages=(), ended=True)]


def test_idle_session_completes_its_last_prompt():
    feed = LiveFeed()
    take(feed, created(), *prompt("msg_1", 1, "for the record"))
    (batch,) = take(feed, event("session.idle"))
    assert (words([batch]), batch.ended) == (["for the record"], True)


def test_messages_of_one_notification_are_one_batch():
    feed = LiveFeed()
    turn = [created(), *prompt("msg_1", 1, "fix it"), *answer("msg_2", 2, "fixed"), event("session.idle")]
    batches = take(feed, *turn, *prompt("msg_3", 3, "thanks"), event("session.idle"))
    assert [(words([batch]), batch.ended) for batch in batches] == [(["fix it", "fixed"], True), (["thanks"], True)]


def test_ended_tools_and_feedback_are_emitted():
    feed = LiveFeed()
    refused = "The user rejected permission to use this specific tool call with the following feedback: use just"
    call = {"type": "tool", "tool": "bash", "callID": "c"}
    done = {"status": "completed", "input": {"command": "make"}, "output": "x", "metadata": {"exit": 1}}
    batches = take(
        feed,
        created(),
        *prompt("msg_1", 1, "build"),
        message("msg_2", "assistant", 2),
        part("prt_1", "msg_2", **call, state={"status": "pending", "input": {}}),
        part("prt_1", "msg_2", **call, state={"status": "running", "input": {}, "metadata": {"output": "x" * 9}}),
        part("prt_2", "msg_2", **call, state={"status": "error", "input": {}, "error": refused}),
        event("permission.replied", requestID="per_1", reply="reject"),
        part("prt_1", "msg_2", **call, state=done),
        end_of_step("msg_2"),
        finished("msg_2", 2),
    )
    assert messages(batches)[1].events == (
        ToolCall(tool="bash", input={"command": "make"}, exit=1, output="x"),
        Feedback(tool="bash", text="use just"),
    )


def test_message_waits_for_its_running_tool():
    feed = LiveFeed()
    call = {"type": "tool", "tool": "bash", "callID": "c"}
    take(feed, created(), *prompt("msg_1", 1, "x"), message("msg_2", "assistant", 2))
    assert take(feed, part("prt_1", "msg_2", **call, state={"status": "running"}), finished("msg_2", 2)) == []
    batches = take(
        feed, part("prt_1", "msg_2", **call, state={"status": "completed", "output": "hi"}), event("session.idle")
    )
    assert messages(batches)[0].events == (ToolCall(tool="bash", output="hi"),)


def test_a_copy_of_a_message_that_arrives_finished_waits_for_its_parts():
    feed = LiveFeed()
    assert take(feed, created(), *prompt("msg_1", 1, "x")) == []
    assert words(take(feed, finished("msg_2", 2), said("prt_2", "msg_2", "copied"))) == ["x"]
    assert words(take(feed, end_of_step("msg_2"))) == ["copied"]


def test_error_after_idle_finishes_its_message():
    feed = LiveFeed()
    take(feed, created(), *prompt("msg_1", 1, "x"), message("msg_2", "assistant", 2), said("prt_2", "msg_2", "half"))
    assert words(take(feed, event("session.idle"))) == []
    failed = message("msg_2", "assistant", 2, error={"name": "MessageAbortedError"})
    assert words(take(feed, failed, event("session.idle"))) == ["half"]


def test_compaction_is_emitted_with_its_summary():
    feed = LiveFeed()
    batches = take(
        feed,
        created(),
        message("msg_1", "user", 1),
        part("prt_1", "msg_1", type="compaction", auto=False),
        message("msg_2", "assistant", 2, summary=True, mode="compaction"),
        said("prt_2", "msg_2", "So far."),
        end_of_step("msg_2"),
        finished("msg_2", 2, summary=True, mode="compaction"),
        event("session.compacted"),
    )
    assert [message.events for message in messages(batches)] == [(), (Compaction(summary="So far."),)]


def test_removed_message_is_not_emitted():
    feed = LiveFeed()
    take(feed, created(), *prompt("msg_1", 1, "delete everything"), said("prt_9", "msg_1", "now"))
    take(feed, event("message.part.removed", messageID="msg_1", partID="prt_msg_1"))
    assert words(take(feed, event("session.idle"))) == ["now"]
    take(feed, *prompt("msg_2", 2, "delete everything"))
    take(feed, event("message.removed", messageID="msg_2"))
    assert words(take(feed, event("session.idle"))) == []
    assert kept(feed) == 0


def test_message_is_emitted_once():
    feed = LiveFeed()
    turn = [*prompt("msg_1", 1, "fix it"), *answer("msg_2", 2, "fixed")]
    assert len(messages(take(feed, created(), *turn))) == 2
    summary = message("msg_1", "user", 1, summary={"diffs": []})
    assert messages(take(feed, summary, *turn, finished("msg_2", 2), event("session.idle"))) == []
    assert kept(feed) == 0


def test_subagent_session_has_its_parent():
    feed = LiveFeed()
    batches = take(
        feed, created("ses_b", parentID="ses_a"), *prompt("msg_1", 1, "x", "ses_b"), event("session.idle", "ses_b")
    )
    assert batches[0].session.parent == "ses_a"


def test_session_info_is_updated():
    feed = LiveFeed()
    take(feed, created(directory="", title="New session"), *prompt("msg_1", 1, "x"))
    (batch,) = take(feed, message("msg_2", "assistant", 2))
    assert (batch.session.directory, batch.session.title) == ("/home/ann/plugin", "New session")
    (batch,) = take(feed, created(kind="session.updated", title="The test"), event("session.idle"))
    assert (batch.session.directory, batch.session.title) == ("/home/ann/shop", "The test")


def test_a_deleted_session_is_forgotten():
    feed = LiveFeed()
    take(feed, created(), *prompt("msg_1", 1, "x"))
    deleted = {"type": "session.deleted", "properties": {"info": {"id": "ses_a"}}}
    assert [(batch.messages, batch.ended) for batch in take(feed, deleted)] == [((), True)]
    assert take(feed, event("session.idle"), deleted) == []
    assert kept(feed) == 0


class TestJoiningInTheMiddle:
    def test_a_message_that_began_before_is_left_to_the_database(self):
        feed = LiveFeed()
        began_before = [said("prt_2", "msg_2", "the end of it"), end_of_step("msg_2"), finished("msg_2", 2)]
        batches = take(feed, created(kind="session.updated"), *began_before, message("msg_1", "user", 1))
        assert messages(batches + take(feed, event("session.idle"))) == []
        still_going = [message("msg_2", "assistant", 2), said("prt_3", "msg_2", "its last words"), finished("msg_2", 2)]
        turn = [*prompt("msg_3", 3, "next"), *still_going, *answer("msg_4", 4, "done"), event("session.idle")]
        assert [message.id for message in messages(take(feed, *turn))] == ["msg_3", "msg_4"]

    def test_answer_seen_in_part_is_not_followed(self):
        feed = LiveFeed()
        take(feed, created(kind="session.updated"), message("msg_2", "assistant", 2), said("prt_3", "msg_2", "the end"))
        told = take(feed, finished("msg_2", 2), *prompt("msg_3", 3, "next"), event("session.idle"))
        assert [message.id for message in messages(told)] == ["msg_3"]

    def test_unknown_session_is_left_to_the_database(self):
        feed = LiveFeed()
        assert take(feed, *prompt("msg_1", 1, "x"), event("session.idle")) == []

    def test_new_session_is_followed_from_its_first_message(self):
        feed = LiveFeed()
        assert words(take(feed, created(), *answer("msg_1", 1, "hello"))) == ["hello"]


class TestLimits:
    def test_the_session_without_events_for_the_longest_time_is_dropped_first(self):
        feed = LiveFeed(LiveLimits(sessions=2))
        for name in ("ses_a", "ses_b"):
            take(feed, created(name), *prompt(f"msg_{name}", 1, name, name))
        take(feed, said("prt_more", "msg_ses_a", "more"), created("ses_c"))
        assert words(take(feed, event("session.idle", "ses_b"))) == []
        assert words(take(feed, event("session.idle", "ses_a"))) == ["more", "ses_a"]

    def test_message_with_too_many_parts_is_dropped_completely(self):
        feed = LiveFeed(LiveLimits(parts=3))
        take(feed, created(), message("msg_1", "user", 1), *(said(f"prt_{n}", "msg_1", "x") for n in range(4)))
        take(feed, message("msg_1", "user", 1), said("prt_9", "msg_1", "the rest"))
        assert words(take(feed, *prompt("msg_2", 2, "kept"), event("session.idle"))) == ["kept"]
        assert kept(feed) == 0

    def test_too_long_message_is_dropped_completely(self):
        feed = LiveFeed(LiveLimits(message_characters=10_000))
        long = {"type": "tool", "tool": "write", "state": {"status": "completed", "input": {"a": ["x" * 999] * 11}}}
        take(feed, created(), *prompt("msg_1", 1, "x"), message("msg_2", "assistant", 2))
        take(feed, part("prt_1", "msg_2", **long), end_of_step("msg_2"))
        assert messages(take(feed, finished("msg_2", 2), event("session.idle"))) == []
        assert kept(feed) == 0

    def test_a_message_too_many_costs_the_oldest(self):
        feed = LiveFeed(LiveLimits(messages=2))
        take(feed, created(), *(message(f"msg_{n}", "user", n) for n in (1, 2, 3)))
        take(feed, *(said(f"prt_{n}", f"msg_{n}", str(n)) for n in (1, 2, 3)))
        assert words(take(feed, event("session.idle"))) == ["2", "3"]

    def test_all_together_never_hold_more_than_is_allowed(self):
        feed = LiveFeed(LiveLimits(characters=50_000))
        for number in range(40):
            name = f"ses_{number}"
            take(feed, created(name), *prompt(f"msg_{number}", 1, "x" * 9_000, name))
            assert kept(feed) <= 50_000
        told = [name for name in range(40) if words(take(feed, event("session.idle", f"ses_{name}")))]
        assert told == [35, 36, 37, 38, 39]
        assert kept(feed) == 0

    def test_long_texts_are_cut_when_they_arrive(self):
        feed = LiveFeed()
        take(feed, created(), *prompt("msg_1", 1, "x" * 5_000_000))
        assert kept(feed) < LONGEST_TEXT + 200
        assert len(words(take(feed, event("session.idle")))[0]) <= LONGEST_TEXT + 3

    def test_ids_of_emitted_messages_are_limited(self):
        feed = LiveFeed(LiveLimits(done=10))
        take(feed, created())
        for number in range(100):
            take(feed, *answer(f"msg_{number}", number, "x"))
        assert len(feed._sessions["ses_a"].done) == 10


class TestShapes:
    @pytest.mark.parametrize(
        ("params", "field"),
        [
            (None, "params"),
            ([], "params"),
            ("events", "params"),
            ({}, "events"),
            ({"events": {}}, "events"),
            ({"events": [], "directory": 3}, "directory"),
            ({"events": [3]}, "events[0]"),
            ({"events": [{}]}, "events[0].type"),
            ({"events": [{"type": "x"}, {"type": "x", "properties": []}]}, "events[1].properties"),
            ({"events": [{"type": "message.updated"}]}, "events[0].properties.info"),
            ({"events": [{"type": "session.created", "properties": {"info": 1}}]}, "events[0].properties.info"),
            ({"events": [event("message.part.updated", part="x")]}, "events[0].properties.part"),
        ],
    )
    def test_invalid_parameters_are_refused_and_name_the_field(self, params, field):
        with pytest.raises(InvalidInputError) as caught:
            LiveFeed().take(params)
        assert caught.value.field == field
        assert field in str(caught.value)

    def test_refused_notification_is_not_processed(self):
        feed = LiveFeed()
        take(feed, created())
        with pytest.raises(InvalidInputError):
            take(feed, *prompt("msg_1", 1, "x"), {"type": 3})
        assert messages(take(feed, event("session.idle"))) == []

    def test_unknown_events_are_skipped_and_logged(self, caplog):
        feed = LiveFeed()
        odd = [
            {"type": "todo.updated", "properties": {"todos": []}},
            {"type": "server.connected"},
            event("message.updated", info={"role": "user", "text": "secret words"}),
            event("message.updated", info={"id": 3, "role": "user"}),
            event("message.part.updated", part={"type": "text", "text": "secret words"}),
            event("session.updated", info={}),
            event("message.removed"),
            event("session.idle", ["ses_a"]),
        ]
        with caplog.at_level(logging.DEBUG):
            assert take(feed, created(), *odd) == []
        assert "skipped" in caplog.text
        assert "secret" not in caplog.text
        assert words(take(feed, *prompt("msg_1", 1, "x"), event("session.idle"))) == ["x"]

    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["ses_a", "msg_1", "user"]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "role", "time", "created", "completed", "type", "text", "state", "summary", "error"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=6,
    )

    @given(
        kinds=st.lists(st.sampled_from(sorted({event["type"] for event in RECORDED})), max_size=6),
        data=st.lists(st.dictionaries(st.sampled_from(["info", "part", "sessionID", "messageID", "partID"]), values)),
    )
    def test_arbitrary_events_do_not_fail(self, kinds, data):
        feed = LiveFeed()
        take(feed, created(), *prompt("msg_1", 1, "x"))
        for kind, properties in zip(kinds, data, strict=False):
            try:
                feed.take({"directory": "", "events": [{"type": kind, "properties": properties}]})
            except InvalidInputError as error:
                assert error.field.startswith("events[0].properties")


class TestWhatTheRealOneSent:
    def test_live_messages_equal_those_of_the_database(self):
        told = by_session(take(LiveFeed(), *RECORDED))
        with OpenCodeDatabase(FORKS) as database:
            heads = {head.info.id: head.info for head in database.sessions()}
            for session, found in told.items():
                live = [message for message in found if message is not True]
                stored = all_messages(database, session)
                if (
                    heads[session].title == "Trouble"
                ):  # The session was killed, and continued while no plugin was connected.
                    stored = stored[:5]
                assert sorted(live, key=lambda message: stored.index(message)) == stored
        assert len(told) == 6

    def test_subagent_and_later_title_are_emitted(self):
        batches = take(LiveFeed(), *RECORDED)
        infos = {batch.session.id: batch.session for batch in batches}
        with OpenCodeDatabase(FORKS) as database:
            heads = {head.info.id: head.info for head in database.sessions()}
        assert {name: heads[name] for name in infos} == infos
        assert sum(info.parent is not None for info in infos.values()) == 1

    @given(chance=st.randoms(use_true_random=False), size=st.integers(1, 50))
    def test_sessions_that_are_interleaved_at_random_never_mix(self, chance, size):
        streams: dict[str, list] = {}
        for recorded in RECORDED:
            streams.setdefault(recorded["properties"]["sessionID"], []).append(recorded)
        alone: dict[str, list[Message | bool]] = {}
        for events in streams.values():
            alone |= by_session(take(LiveFeed(), *events))
        waiting = [iter(events) for events in streams.values()]
        mixed = []
        while waiting:
            stream = chance.choice(waiting)
            recorded = next(stream, None)
            if recorded is None:
                waiting.remove(stream)
            else:
                mixed.append(recorded)
        feed = LiveFeed()
        notifications = [mixed[start : start + size] for start in range(0, len(mixed), size)]
        assert by_session(batch for events in notifications for batch in take(feed, *events)) == alone

    def test_failing_test_edit_and_passing_test_are_emitted_in_order(self):
        told = messages(take(LiveFeed(), *RECORDED))
        events = [event for message in told for event in message.events]
        start = events.index(UserText(text="Please fix it"))
        fixed = [event for event in events[start:] if not isinstance(event, UserText | AssistantText)][:3]
        assert [(call.tool, call.exit) for call in fixed] == [("bash", 2), ("edit", None), ("bash", 0)]
