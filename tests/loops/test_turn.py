"""How far a turn is, read from the messages of a session."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.loops.message_ids import message_id, part_id
from opencode_memory.loops.turn import Progress, Status, read_status, read_turn
from opencode_memory.text import clock

OURS = "msg_0000000000020000000000000a"
EARLIER = "msg_0000000000010000000000000a"
ANSWER = "msg_0000000000030000000000000a"
LATER = "msg_0000000000040000000000000a"


def message(id: str, role: str = "assistant", /, *parts: Any, **info: Any) -> dict[str, Any]:
    done = {"time": {"completed": 5}, "finish": "stop"} if role == "assistant" else {}
    return {"info": {"id": id, "role": role, **done, **info}, "parts": list(parts)}


ASKED = message(OURS, "user")


def progress(*messages: Any) -> Progress:
    return read_turn(messages, OURS).progress


def test_complete_answer_is_done() -> None:
    turn = read_turn([ASKED, message(ANSWER, "assistant", {"type": "text", "text": " It works. "})], OURS)
    assert (turn.progress, turn.text) == (Progress.DONE, "It works.")


def test_answer_of_a_killed_opencode_is_done_without_an_end_time() -> None:
    """OpenCode writes the finish before the end time, and never adds the latter after its death."""
    assert progress(ASKED, message(ANSWER, time={})) is Progress.DONE


def test_message_that_opencode_does_not_have_is_absent() -> None:
    assert progress() is Progress.ABSENT
    assert progress(message(EARLIER), message(ANSWER)) is Progress.ABSENT


@pytest.mark.parametrize(
    "answer",
    [
        message(ANSWER, time={}, finish=None),
        message(ANSWER, finish="tool-calls"),
        message(ANSWER, finish=None),
        message(ANSWER, "user"),
    ],
)
def test_unfinished_turn_is_open(answer: dict[str, Any]) -> None:
    assert progress(ASKED, answer) is Progress.OPEN


def test_answer_after_a_compaction_counts() -> None:
    """After a compaction the final answer hangs on a message of OpenCode's own."""
    assert progress(ASKED, message(ANSWER, finish="tool-calls"), message(LATER, parentID="msg_other")) is Progress.DONE


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"name": "MessageAbortedError"}, Progress.ABORTED),
        ({"name": "APIError", "data": {"statusCode": 400, "message": "bad"}}, Progress.FAILED),
        ({"name": "APIError", "data": {"statusCode": 401, "message": "no"}}, Progress.REFUSED),
        ({"name": "APIError", "data": {"statusCode": 429, "message": "Your quota is used up"}}, Progress.REFUSED),
        ({"name": "ProviderAuthError", "data": {"message": "no key"}}, Progress.REFUSED),
    ],
)
def test_errors_are_told_apart(error: dict[str, Any], expected: Progress) -> None:
    assert progress(ASKED, message(ANSWER, error=error)) is expected


def test_mark_changes_while_a_tool_runs() -> None:
    def running(output: str) -> str:
        state = {"status": "running", "metadata": {"output": output}}
        turn = read_turn([ASKED, message(ANSWER, "assistant", {"type": "tool", "state": state}, finish=None)], OURS)
        assert turn.runs_tool
        return turn.mark

    assert running("") != running("more")


@pytest.mark.parametrize(
    "damaged", [None, 7, {}, {"info": 3}, {"info": {"id": OURS}}, {"info": {"id": ANSWER}, "parts": [None]}]
)
def test_damaged_messages_raise_nothing(damaged: Any) -> None:
    assert read_turn([ASKED, damaged], OURS).progress is not Progress.DONE


VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["assistant", "tool", "text", "running", "stop", "tool-calls"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "text", "state", "status", "name", "data", "metadata"]), inner)
    ),
    max_leaves=6,
)
INFOS = st.fixed_dictionaries(
    {},
    optional={
        "finish": VALUES,
        "role": VALUES,
        "error": st.fixed_dictionaries(
            {},
            optional={
                "name": VALUES,
                "data": VALUES | st.fixed_dictionaries({}, optional={"statusCode": VALUES, "message": VALUES}),
            },
        ),
    },
)


@given(info=INFOS, parts=st.lists(VALUES, max_size=3))
def test_no_content_of_an_answer_raises(info: dict[str, Any], parts: list[Any]) -> None:
    assert progress(ASKED, message(ANSWER, "assistant", *parts, **info)) is not Progress.ABSENT


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, None),
        ({"type": "idle"}, None),
        ({"type": "busy"}, Status(kind="busy")),
        ({"type": "retry", "next": 61_500, "message": "later\nmore"}, ("retry", "later", 60.5)),
        ({"type": "retry", "next": 5, "message": "now"}, ("retry", "now", 0.0)),
        ({"type": "retry", "next": "soon"}, Status(kind="retry")),
        (["retry"], None),
    ],
)
def test_status_of_a_session(state: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        kind, said, seconds = expected
        expected = Status(kind=kind, said=said, seconds_to_retry=seconds)
    assert read_status(state, at=datetime.fromtimestamp(1, UTC)) == expected


def test_ids_ascend() -> None:
    at = clock.now()
    first, second = message_id(at), message_id(at.replace(year=at.year + 1))
    assert len(first) == len(part_id(at)) == 30
    assert first < second
