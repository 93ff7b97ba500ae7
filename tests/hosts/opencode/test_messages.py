"""Conversion of a message into events: texts, completeness, and the digest of copies."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.hosts.opencode.feed.messages import (
    ABANDONED_MS,
    SETTLED_MS,
    USER_GRACE_MS,
    extract_essence,
    read_message,
)
from opencode_memory.hosts.opencode.feed.second_engine import as_v1
from opencode_memory.learning.extraction.events import (
    LONGEST_TEXT,
    AssistantText,
    Compaction,
    Feedback,
    ToolCall,
    ToolStatus,
    UserText,
    truncate,
)

REFUSED = "The user rejected permission to use this specific tool call"


def user(*parts: Any, **more: Any):
    return read_message({"id": "msg_1", "role": "user", "time": {"created": 7}} | more, parts, is_followed=True)


def agent(*parts: Any, **more: Any):
    info = {
        "id": "msg_2",
        "role": "assistant",
        "mode": "build",
        "agent": "build",
        "time": {"created": 8, "completed": 9},
    }
    return read_message(info | more, parts, is_followed=True)


def text(words, **more: Any):
    return {"type": "text", "text": words} | more


def tool(name="bash", *, call="call_1", **state: Any):
    return {"type": "tool", "tool": name, "callID": call, "state": {"status": "completed", "input": {}} | state}


def second(kind, **data: Any):
    info, parts = as_v1("msg_2", kind, {"time": {"created": 8}} | data)
    return read_message(info, parts, is_followed=True)


def test_typed_text_is_an_event_and_synthetic_text_is_not():
    message = user(
        text("Always use tabs."),
        text("<content>1: spaces</content>", synthetic=True),
        text("shown to the person only", ignored=True),
        text("  \n"),
        {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "data:text/plain,tabs"},
        {"type": "agent", "name": "general", "source": {"value": "@general", "start": 0, "end": 8}},
        {"type": "compaction", "auto": True},
        text("[Attached image/png: shot.png]"),
    )
    assert message.events == (UserText(text="Always use tabs."),)
    assert (message.id, message.at_ms) == ("msg_1", 7)


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"two words"', "two words"),
        ('"say \\"quoted\\" now"', 'say "quoted" now'),
        ('"two\nlines of it"', "two\nlines of it"),
        ('"word"', '"word"'),
        ('"first argument" "second argument"', '"first argument" "second argument"'),
        ('fix "this one"', 'fix "this one"'),
        ('"', '"'),
        ('he said "no way"', 'he said "no way"'),
    ],
)
def test_the_quotes_that_opencode_run_puts_around_a_prompt_are_taken_off(stored, typed):
    assert user(text(stored)).events == (UserText(text=typed),)


def test_agents_texts_and_calls_are_events_and_reasoning_is_not():
    message = agent(
        {"type": "step-start"},
        {"type": "reasoning", "text": "hmm"},
        text("I run it."),
        tool(input={"command": "make"}, output="boom\n", metadata={"exit": 2, "output": "boom\n"}),
        tool("edit", status="error", input={"filePath": "a"}, error="not found"),
        {"type": "patch", "hash": "x", "files": ["a"]},
        text("Done."),
        {"type": "step-finish"},
    )
    assert message.events == (
        AssistantText(text="I run it."),
        ToolCall(tool="bash", input={"command": "make"}, exit=2, output="boom\n"),
        ToolCall(tool="edit", input={"filePath": "a"}, status=ToolStatus.ERROR, error="not found"),
        AssistantText(text="Done."),
    )


@pytest.mark.parametrize("metadata", [{"exit": None}, {"exit": "2"}, {"exit": True}, {}, None, [], {"exit": 1.5}])
def test_invalid_exit_code_is_ignored(metadata):
    assert agent(tool(metadata=metadata)).events == (ToolCall(tool="bash"),)


def test_a_tool_that_never_ended_is_no_event():
    message = read_message(
        {"id": "m", "role": "assistant", "time": {"created": 1}},
        [tool(status="running"), tool(status="pending", input="{"), text("started")],
        is_left=True,
    )
    assert message.events == (AssistantText(text="started"),)


def test_a_refusal_with_words_is_feedback_and_one_without_is_a_failed_call():
    said = f"{REFUSED} with the following feedback: No, use make deploy"
    message = agent(
        tool(status="error", input={"command": "rm x"}, error=said),
        tool(status="error", error=f"{REFUSED}."),
        tool(status="error", error=f"{REFUSED} with the following feedback: "),
        tool(output=said),
    )
    assert message.events[0] == Feedback(tool="bash", input={"command": "rm x"}, text="No, use make deploy")
    assert [type(event) for event in message.events[1:]] == [ToolCall, ToolCall, ToolCall]


def test_summary_is_a_compaction_and_not_the_agents_text():
    parts = [{"type": "step-start"}, text("We fixed the bug."), text("And wrote notes."), tool(output="x")]
    told = agent(*parts, summary=True, mode="compaction", agent="compaction").events
    assert told == (Compaction(summary="We fixed the bug.\nAnd wrote notes."),)
    assert agent(*parts, summary=True, error={"name": "MessageAbortedError"}).events == ()
    assert agent(summary=True).events == ()


@pytest.mark.parametrize("hidden", [{"mode": "compaction"}, {"agent": "title"}, {"mode": "summary", "agent": "x"}])
def test_hidden_agents_have_no_events(hidden):
    assert agent(text("A fine title"), **hidden).events == ()


@pytest.mark.parametrize("given", [{"mode": {}}, {"agent": ["compaction"]}])
def test_agent_whose_name_is_no_text_is_not_hidden(given):
    assert agent(text("An answer"), **given).events == (AssistantText(text="An answer"),)


def test_long_texts_are_cut_wherever_they_stand():
    long = "a" * LONGEST_TEXT + "b"
    message = agent(text(long), tool(input={"content": long, "edits": [{"new": long}]}, output=long, error=long))
    said, call = message.events
    assert said.text == call.output == call.error == truncate(long)
    assert call.input == {"content": truncate(long), "edits": [{"new": truncate(long)}]}


def test_lone_surrogates_are_replaced():
    message = agent(text("a\ud800b"), tool("t\udfff", input={"k\ud800": "\udc00"}, output="\ud800"))
    for event in message.events:
        repr(event).encode("utf-8")
    assert message.events[0] == AssistantText(text="a?b")


class TestCompleteness:
    def test_a_message_of_the_user_is_complete_when_another_follows_or_after_a_while(self):
        info = {"id": "m", "role": "user", "time": {"created": 1}}
        parts = [text("hello")]
        assert read_message(info, parts, now_ms=USER_GRACE_MS - 1) is None
        assert read_message(info, parts, now_ms=USER_GRACE_MS).events == (UserText(text="hello"),)
        assert read_message(info, parts, is_followed=True).events == (UserText(text="hello"),)

    def test_user_message_without_parts_is_incomplete(self):
        info = {"id": "m", "role": "user", "time": {"created": 1}}
        assert read_message(info, [], is_followed=True) is None
        assert read_message(info, [], now_ms=ABANDONED_MS - 1) is None
        assert read_message(info, [], now_ms=ABANDONED_MS).events == ()
        assert read_message(info, [], is_left=True).events == ()

    def test_finished_agent_message_with_its_end_is_complete(self):
        info = {"id": "m", "role": "assistant", "finish": "stop", "time": {"created": 1, "completed": 2}}
        assert read_message(info, [text("done"), {"type": "step-finish"}]).events == (AssistantText(text="done"),)
        # A copy for a fork: finished from the first moment, with parts still to come.
        assert read_message(info, [text("done")]) is None
        assert read_message(info, [text("done")], now_ms=SETTLED_MS).events == (AssistantText(text="done"),)
        assert read_message(info, [text("done")], is_followed=True).events == (AssistantText(text="done"),)

    def test_an_error_finishes_a_message(self):
        info = {"id": "m", "role": "assistant", "time": {"created": 1}, "error": {"name": "APIError"}}
        assert read_message(info, [], now_ms=SETTLED_MS - 1) is None
        assert read_message(info, [], now_ms=SETTLED_MS).events == ()

    def test_a_finished_message_with_a_tool_that_runs_is_not_complete(self):
        info = {"id": "m", "role": "assistant", "time": {"created": 1, "completed": 2}}
        assert read_message(info, [tool(status="running")], now_ms=SETTLED_MS, is_followed=True) is None

    def test_unfinished_message_is_complete_when_left_or_after_an_hour(self):
        info = {"id": "m", "role": "assistant", "time": {"created": 1}}
        parts = [text("I was about to")]
        assert read_message(info, parts, now_ms=ABANDONED_MS + 4, touched_ms=5, is_followed=True) is None
        assert read_message(info, parts, now_ms=ABANDONED_MS + 5, touched_ms=5).events
        assert read_message(info, parts, is_left=True).events


class TestDigest:
    def test_a_copy_under_new_ids_has_the_same_digest(self):
        copied = {"id": "msg_copy", "sessionID": "ses_other", "parentID": "msg_other"}
        parts = [text("I run it."), tool(input={"command": "make"}, output="x")]
        moved = [part | {"id": "prt_new", "messageID": "msg_copy", "sessionID": "ses_other"} for part in parts]
        assert agent(*parts).digest == agent(*moved, **copied).digest
        assert user(text("hello")).digest == user(text("hello"), id="msg_copy", summary={"diffs": []}).digest

    def test_old_output_that_was_pruned_does_not_change_it(self):
        assert agent(tool(output="a lot")).digest == agent(tool(output="", time={"compacted": 1})).digest

    def test_every_other_message_has_another(self):
        digests = [
            user(text("hello")).digest,
            user(text("hello"), time={"created": 8}).digest,
            user(text("hello"), text("hello")).digest,
            user(text("hello\nhello")).digest,
            agent(text("hello")).digest,
            agent(text("hello"), tool()).digest,
            agent(text("hello"), tool(call="call_2")).digest,
            agent(text("hello"), tool(input={"command": "make"})).digest,
            agent(text("hello"), tool("read")).digest,
            agent(text("hello"), tool(status="error")).digest,
            agent(text("hello"), summary=True).digest,
            user(text("hello"), time={}).digest,
            user(text("hello"), time={}, id="msg_other").digest,
        ]
        assert len(set(digests)) == len(digests)
        assert all(len(digest) == 32 and int(digest, 16) >= 0 for digest in digests)


class TestSecondEngine:
    def test_a_tool_tells_exit_code_output_and_error_as_in_the_first_engine(self):
        told = [{"type": "text", "text": "FAIL\n"}, {"type": "text", "text": "Command exited with code 2."}]
        done = {"status": "completed", "input": {"command": "make"}, "content": told, "structured": {"exit": 2}}
        failed = {"status": "error", "input": {}, "content": [], "error": {"type": "unknown", "message": "no"}}
        feedback = {"status": "error", "error": {"message": f"{REFUSED} with the following feedback: use just"}}
        content = [
            {"type": "reasoning", "id": "r", "text": "hmm"},
            {"type": "tool", "id": "c1", "name": "bash", "state": done},
            {"type": "tool", "id": "c2", "name": "edit", "state": failed},
            {"type": "tool", "id": "c3", "name": "bash", "state": feedback},
        ]
        assert second("assistant", content=content, time={"created": 8, "completed": 9}).events == (
            ToolCall(tool="bash", input={"command": "make"}, exit=2, output="FAIL\n"),
            ToolCall(tool="edit", status=ToolStatus.ERROR, error="no"),
            Feedback(tool="bash", text="use just"),
        )

    def test_a_message_counts_the_same_whichever_engine_holds_it(self):
        call = {"type": "tool", "id": "call_1", "name": "bash", "state": {"status": "completed", "input": {"a": 1}}}
        there = second("assistant", content=[{"type": "text", "text": "x"}, call], time={"created": 8, "completed": 9})
        assert there == agent(text("x"), tool(input={"a": 1}))

    def test_other_rows_give_shell_calls_and_summaries_only(self):
        shell = second("shell", command="ls", output="a\n", callID="c", time={"created": 8, "completed": 9})
        assert shell.events == (ToolCall(tool="bash", input={"command": "ls"}, output="a\n"),)
        assert second("shell", command="ls", output="", callID="c") is None
        assert second("compaction", summary="So far.", recent="x").events == (Compaction(summary="So far."),)
        assert second("user", text='"two words"', files=[{"uri": "file:///a"}]).events == (UserText(text="two words"),)
        for kind in ("synthetic", "system", "agent-switched", "model-switched", "idle", "of tomorrow"):
            assert second(kind, text="Always use tabs.", summary="x", content=[text("x")]).events == ()


class TestForeignData:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
    keys = st.sampled_from([
        "type", "text", "tool", "state", "status", "input", "metadata", "exit", "error", "time", "created", "completed",
        "role", "summary", "id", "callID", "content", "name", "structured", "message", "synthetic", "finish", "mode",
        "agent",
    ])  # fmt: skip
    words = st.sampled_from(
        ["user", "assistant", "text", "tool", "completed", "error", "running", "step-finish", "bash"]
    )
    flat = st.dictionaries(keys, words | anything, max_size=4)
    nested = st.dictionaries(keys, words | anything | flat | st.lists(flat, max_size=3), max_size=6)
    objects = st.dictionaries(keys, words | anything | nested | st.lists(nested, max_size=3), max_size=6)

    @given(info=objects, parts=st.lists(objects, max_size=4))
    def test_no_content_makes_it_fail(self, info, parts):
        message = read_message(info, parts, is_left=True)
        repr(message).encode("utf-8")

    @given(kind=words | st.just("shell") | st.just("compaction"), data=objects)
    def test_no_row_of_the_second_engine_makes_it_fail(self, kind, data):
        info, parts = as_v1("msg", kind, data)
        assert read_message(info, parts, is_left=True).id == "msg"

    @given(part=objects)
    def test_reducing_a_part_twice_is_reducing_it_once(self, part):
        essence = extract_essence(part)
        if essence is not None:
            assert json.dumps(extract_essence(essence)) == json.dumps(essence)

    @pytest.mark.parametrize(
        "part",
        [
            {},
            {"type": 3},
            {"type": "hologram", "text": "secret words"},
            {"type": "text"},
            {"type": "text", "text": ["secret words"]},
            {"type": "tool"},
            {"type": "tool", "tool": "", "state": {"status": "completed"}},
            {"type": "tool", "tool": "bash", "state": "secret words"},
        ],
    )
    def test_unknown_part_is_skipped_and_logged_without_its_text(self, part, caplog):
        with caplog.at_level(logging.DEBUG):
            assert agent(part, text("after")).events == (AssistantText(text="after"),)
        assert "skipped" in caplog.text
        assert "secret" not in caplog.text

    def test_message_of_an_unknown_role_has_no_events(self):
        assert read_message({"id": "m", "role": "oracle"}, [text("x")]).events == ()
        assert read_message({}, []).events == ()

    def test_arguments_that_are_nested_without_end_are_cut_off(self):
        deep: dict = {}
        for _ in range(500):
            deep = {"a": deep}
        (call,) = agent(tool(input=deep)).events
        assert len(json.dumps(call.input)) < 200
