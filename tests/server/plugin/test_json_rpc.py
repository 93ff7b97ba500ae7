"""JSON-RPC 2.0 peer: requests, notifications and invalid messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencode_memory.errors import BusyError, InvalidInputError
from opencode_memory.server.plugin.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    DisconnectedError,
    Method,
    Peer,
    RemoteError,
)

Talk = Callable[["Line"], Awaitable[None]]


class Line:
    """The other end of a connection: sends texts to a peer and reads its answers."""

    def __init__(self, requests: dict[str, Method], notifications: dict[str, Method]) -> None:
        self._to, self._texts = anyio.create_memory_object_stream[str](1_000)
        self._sent, self._from = anyio.create_memory_object_stream[str](1_000)
        self.peer = Peer(self._sent.send, requests=requests, notifications=notifications)

    async def send(self, message: Any) -> None:
        """Send a message, or a text that may be invalid."""
        await self._to.send(message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message}))

    async def ask(self, id: Any, method: str, params: Any = None) -> None:
        await self.send({"id": id, "method": method, "params": params})

    async def tell(self, method: str, params: Any = None) -> None:
        await self.send({"method": method, "params": params})

    async def said(self) -> dict[str, Any]:
        """The next message of the peer."""
        with anyio.fail_after(20):
            text = await self._from.receive()
        text.encode()
        message: dict[str, Any] = json.loads(text)
        assert message.pop("jsonrpc") == "2.0"
        return message

    async def refused(self) -> tuple[Any, int]:
        """Whom the next message of the peer refuses, and how."""
        message = await self.said()
        return message["id"], message["error"]["code"]

    def leave(self) -> None:
        """End the connection."""
        self._to.close()

    def close(self) -> None:
        for stream in (self._to, self._texts, self._sent, self._from):
            stream.close()

    async def run(self) -> None:
        await self.peer.run(self._texts)


def connected(talk: Talk, *, notifications: dict[str, Method] | None = None, **requests: Method) -> None:
    """Talk to a peer, which has to be at its end when the other side leaves."""

    async def both() -> None:
        line = Line(requests, notifications or {})
        try:
            async with running(line):
                await talk(line)
        finally:
            line.close()

    anyio.run(both)


@asynccontextmanager
async def running(line: Line) -> Any:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(line.run)
            yield
            line.leave()


async def echo(params: Any) -> Any:
    return params


async def bug(_: Any) -> Any:
    raise RuntimeError("the secret of the store")


# Incoming requests


def test_a_request_is_answered_with_its_id() -> None:
    async def talk(line: Line) -> None:
        for id_ in (0, 1, -1, 2**80, "", "a", "\u00e9"):
            await line.ask(id_, "echo", {"a": [1, None, "\u4e2d"]})
            assert await line.said() == {"id": id_, "result": {"a": [1, None, "\u4e2d"]}}

    connected(talk, echo=echo)


def test_request_without_parameters_passes_none() -> None:
    async def talk(line: Line) -> None:
        await line.send({"id": 1, "method": "echo"})
        assert await line.said() == {"id": 1, "result": None}

    connected(talk, echo=echo)


def test_a_slow_request_holds_up_no_other() -> None:
    async def talk(line: Line) -> None:
        await line.ask(1, "slow")
        await line.ask(2, "echo", "quick")
        assert await line.said() == {"id": 2, "result": "quick"}
        await line.ask(3, "release")
        assert sorted([(await line.said())["id"], (await line.said())["id"]]) == [1, 3]

    free = anyio.Event()

    async def slow(_: Any) -> None:
        await free.wait()

    async def release(_: Any) -> None:
        free.set()

    connected(talk, echo=echo, slow=slow, release=release)


def test_an_unknown_method_is_an_error_and_an_unknown_notification_is_not() -> None:
    async def talk(line: Line) -> None:
        await line.tell("no/such")
        await line.ask(1, "no/such" * 100)
        message = await line.said()
        assert (message["id"], message["error"]["code"]) == (1, METHOD_NOT_FOUND)
        assert len(message["error"]["message"]) < 120
        await line.ask(2, "told")
        assert await line.refused() == (2, METHOD_NOT_FOUND)
        await line.tell("echo", "not asked")
        await line.ask(3, "echo", "asked")
        assert await line.said() == {"id": 3, "result": "asked"}

    connected(talk, echo=echo, notifications={"told": echo})


@pytest.mark.parametrize(
    ("error", "code"),
    [(InvalidInputError("x: is missing", field="x"), INVALID_PARAMS), (BusyError("the store is busy"), INTERNAL_ERROR)],
)
def test_known_error_is_sent_with_its_message(error: Exception, code: int) -> None:
    async def fail(_: Any) -> None:
        raise error

    async def talk(line: Line) -> None:
        await line.ask("a", "fail")
        assert await line.said() == {"id": "a", "error": {"code": code, "message": str(error)}}

    connected(talk, fail=fail)


def test_internal_error_is_not_sent_and_keeps_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(line: Line) -> None:
        for id_ in (1, 2):
            await line.ask(id_, "bug")
            message = await line.said()
            assert (message["id"], message["error"]["code"]) == (id_, INTERNAL_ERROR)
            assert "secret" not in json.dumps(message)
        await line.ask(3, "echo", "still there")
        assert (await line.said())["result"] == "still there"

    connected(talk, bug=bug, echo=echo)
    assert caplog.text.count("bug failed") == 2


def test_an_answer_that_is_no_json_is_a_bug_as_well(caplog: pytest.LogCaptureFixture) -> None:
    async def odd(_: Any) -> Any:
        return {"path": object()}

    async def talk(line: Line) -> None:
        await line.ask(1, "odd")
        assert await line.refused() == (1, INTERNAL_ERROR)
        await line.ask(2, "echo", 2)
        assert (await line.said())["result"] == 2

    connected(talk, odd=odd, echo=echo)
    assert "not JSON serializable" in caplog.text


def test_half_a_character_is_sent_as_a_mark() -> None:
    async def talk(line: Line) -> None:
        await line.send('{"jsonrpc":"2.0","id":"\\ud800","method":"echo","params":"a\\udfff \\ud83d\\ude00"}')
        assert await line.said() == {"id": "?", "result": "a? \U0001f600"}

    connected(talk, echo=echo)


# Incoming notifications


def test_notifications_are_handled_in_order() -> None:
    taken: list[int] = []

    async def told(number: int) -> None:
        for _ in range(number % 3):
            await anyio.lowlevel.checkpoint()
        taken.append(number)

    async def talk(line: Line) -> None:
        for number in range(50):
            await line.tell("told", number)

    connected(talk, notifications={"told": told})
    assert taken == list(range(50))


def test_last_notifications_are_handled_after_disconnect() -> None:
    taken: list[int] = []
    gone = anyio.Event()

    async def told(number: int) -> None:
        await gone.wait()
        taken.append(number)

    async def talk(line: Line) -> None:
        for number in range(5):
            await line.tell("told", number)
        line.leave()
        await anyio.wait_all_tasks_blocked()
        assert taken == []
        gone.set()

    connected(talk, notifications={"told": told})
    assert taken == [0, 1, 2, 3, 4]


def test_endless_notification_is_cancelled_after_disconnect() -> None:
    async def told(_: Any) -> None:
        await anyio.sleep_forever()

    async def talk(line: Line) -> None:
        await line.tell("told")
        await line.ask(1, "told")

    connected(talk, notifications={"told": told}, told=told)


def test_wait_for_notifications_waits_for_earlier_ones() -> None:
    taken: list[str] = []
    free = anyio.Event()

    async def slow(what: str) -> None:
        await free.wait()
        taken.append(what)

    async def quick(what: str) -> None:
        taken.append(what)

    async def talk(line: Line) -> None:
        async def flush(_: Any) -> list[str]:
            await line.peer.wait_for_notifications()
            return taken.copy()

        async def peek(_: Any) -> list[str]:
            await line.peer.wait_for_notifications("quick")
            return taken.copy()

        requests.update(flush=flush, peek=peek)
        for method in ("slow", "quick", "slow"):
            await line.tell(method, method)
        await line.ask(1, "flush")
        await line.ask(2, "peek")
        # One method waits for no other.
        assert await line.said() == {"id": 2, "result": ["quick"]}
        free.set()
        assert await line.said() == {"id": 1, "result": ["quick", "slow", "slow"]}

    requests: dict[str, Method] = {}

    async def both() -> None:
        line = Line(requests, {"slow": slow, "quick": quick})
        async with running(line):
            await talk(line)
        line.close()

    anyio.run(both)


def test_failing_notification_is_logged_and_the_next_is_handled(caplog: pytest.LogCaptureFixture) -> None:
    taken: list[int] = []

    async def told(number: int) -> None:
        if number == 0:
            raise InvalidInputError("0 cannot be meant", field="number")
        if number == 1:
            raise RuntimeError("a bug")
        taken.append(number)

    async def talk(line: Line) -> None:
        for number in range(3):
            await line.tell("told", number)

    with caplog.at_level(logging.WARNING):
        connected(talk, notifications={"told": told})
    assert taken == [2]
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


# Invalid messages


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", PARSE_ERROR),
        ("{", PARSE_ERROR),
        ("\x00", PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":1,"method":"echo"', PARSE_ERROR),
        ("[" * 100_000, PARSE_ERROR),
        ('{"a":' * 100_000, PARSE_ERROR),
        ('{"jsonrpc":"2.0","method":"echo","id":' + "9" * 5_000 + "}", PARSE_ERROR),
        ("null", INVALID_REQUEST),
        ("1", INVALID_REQUEST),
        ('"echo"', INVALID_REQUEST),
        ("{}", INVALID_REQUEST),
        ("[]", INVALID_REQUEST),
        ('[{"jsonrpc":"2.0","id":1,"method":"echo"}]', INVALID_REQUEST),
        ('{"id":1,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":2.0,"id":1,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"1.0","id":1,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"method":1}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"method":null}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":null,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":true,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1.5,"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":[1],"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":{},"method":"echo"}', INVALID_REQUEST),
        ('{"jsonrpc":"2.0","result":1}', INVALID_REQUEST),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else None,
)
def test_invalid_message_is_refused_and_keeps_the_connection(text: str, code: int) -> None:
    called: list[Any] = []

    async def note(params: Any) -> None:
        called.append(params)

    async def talk(line: Line) -> None:
        await line.send(text)
        assert await line.refused() == (None, code)
        await line.ask(1, "still", "there")
        assert await line.said() == {"id": 1, "result": "there"}

    connected(talk, echo=note, still=echo, notifications={"echo": note})
    assert called == []


def test_error_without_a_request_is_not_answered() -> None:
    async def talk(line: Line) -> None:
        await line.send({"id": None, "error": {"code": PARSE_ERROR, "message": "this is not JSON"}})
        for id_ in (99, "99", True, 1.5, [1], {"a": 1}):
            await line.send({"id": id_, "result": {}})
        await line.ask(1, "echo", "first")
        assert await line.said() == {"id": 1, "result": "first"}

    connected(talk, echo=echo)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(0, 3) | JSON,
        "method": st.sampled_from(["echo", "bug", "told", "no"]) | JSON,
        "params": JSON,
        "result": JSON,
        "error": JSON,
    },
)


@given(st.lists(JSON.map(json.dumps) | MESSAGES.map(json.dumps) | st.text(max_size=20), max_size=8))
@example(['{"jsonrpc":"2.0","id":1,"result":1,"method":"bug"}', '{"jsonrpc":"2.0","id":1,"error":null}'])
def test_no_message_ends_a_connection(texts: list[str]) -> None:
    async def talk(line: Line) -> None:
        async def ask() -> None:
            with pytest.raises(RemoteError):
                await line.peer.ask("anything", {}, seconds=0)

        await ask()
        for text in texts:
            await line.send(text)
        await line.ask("the end", "echo", "still there")
        while (message := await line.said()).get("id") != "the end" or "result" not in message:
            assert "secret" not in json.dumps(message)
        assert message["result"] == "still there"

    logging.disable(logging.CRITICAL)
    try:
        connected(talk, echo=echo, bug=bug, notifications={"told": bug})
    finally:
        logging.disable(logging.NOTSET)


# Outgoing requests


def test_answers_are_matched_by_id() -> None:
    async def talk(line: Line) -> None:
        answers: dict[str, Any] = {}

        async def ask(method: str) -> None:
            answers[method] = await line.peer.ask(method, {"of": method}, seconds=20)

        async with anyio.create_task_group() as tasks:
            for method in ("one", "two", "three"):
                tasks.start_soon(ask, method)
            asked = [await line.said() for _ in range(3)]
            assert len({message["id"] for message in asked}) == 3
            for message in reversed(asked):
                assert message["params"] == {"of": message["method"]}
                await line.send({"id": message["id"], "result": message["method"].upper()})
        assert answers == {"one": "ONE", "two": "TWO", "three": "THREE"}

    connected(talk)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"code": 1, "message": "there is no screen"}, "there is no screen"),
        ({"code": 1}, "None"),
        ("broken", "broken"),
        (["a"], "a"),
    ],
)
def test_an_error_of_the_other_side_is_one_here(error: Any, told: str) -> None:
    async def talk(line: Line) -> None:
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(RemoteError, match=f"toast failed: .*{told}"):
                    await line.peer.ask("toast", {}, seconds=20)

            tasks.start_soon(ask)
            await line.send({"id": (await line.said())["id"], "error": error})

    connected(talk)


def test_late_answer_is_ignored() -> None:
    async def talk(line: Line) -> None:
        with pytest.raises(RemoteError, match=r"toast was not answered in 0 s"):
            await line.peer.ask("toast", {}, seconds=0)
        late = 1
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                assert await line.peer.ask("toast", {}, seconds=20) == "the second"

            tasks.start_soon(ask)
            second = await line.said()
            assert second["id"] > late
            await line.send({"id": late, "result": "the first"})
            # True is 1 in Python, and no number in JSON.
            await line.send({"id": True, "result": "true"})
            await line.send({"id": second["id"], "result": "the second"})
        assert line.peer._asked == {}

    connected(talk)


def test_a_question_that_cannot_be_sent_runs_out_of_time_too() -> None:
    async def talk(line: Line) -> None:
        async def stuck(_: str) -> None:
            await anyio.sleep_forever()

        line.peer._send = stuck
        with pytest.raises(RemoteError, match="was not answered"):
            await line.peer.ask("toast", {}, seconds=0.01)

    connected(talk)


def test_a_handler_may_ask_back_before_it_answers() -> None:
    async def both() -> None:
        async def relay(params: Any) -> Any:
            return await line.peer.ask("oc.request", params, seconds=20)

        line = Line({"relay": relay}, {})
        async with running(line):
            await line.ask("a", "relay", {"path": "/x"})
            asked = await line.said()
            assert (asked["method"], asked["params"]) == ("oc.request", {"path": "/x"})
            await line.send({"id": asked["id"], "result": 200})
            assert await line.said() == {"id": "a", "result": 200}
        line.close()

    anyio.run(both)


def test_pending_request_ends_at_disconnect() -> None:
    async def both() -> None:
        async def relay(params: Any) -> Any:
            return await line.peer.ask("oc.request", params, seconds=1_000)

        line = Line({"relay": relay}, {})
        async with running(line):
            await line.ask("a", "relay", {})
            await line.said()
        line.close()

    anyio.run(both)


def test_request_that_must_not_be_cancelled_fails_at_disconnect() -> None:
    failed: list[str] = []

    async def both() -> None:
        async def relay(_: Any) -> None:
            with anyio.CancelScope(shield=True):
                for _ in range(2):
                    try:
                        await line.peer.ask("oc.request", {}, seconds=1_000)
                    except DisconnectedError as error:
                        failed.append(str(error))

        line = Line({"relay": relay}, {})
        with anyio.fail_after(20):
            async with running(line):
                await line.ask("a", "relay", {})
                await line.said()
        line.close()

    anyio.run(both)
    assert [message.split(" ", 1)[1] for message in failed] == [
        "was not answered before the other side disconnected",
        "was not sent, because the other side has disconnected",
    ]
