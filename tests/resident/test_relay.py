"""The relay of ``serve --stdio``: passes lines on, and replaces a server that ends."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from opencode_memory.resident import relay
from opencode_memory.resident.relay import LinkLostError, Relay

GREETING = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "recall"}}
PATIENCE_SECONDS = 30


class FakeLink:
    """A server of which a test holds both ends."""

    def __init__(self) -> None:
        self.received: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.closed = threading.Event()
        self.is_replaced = False
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._is_gone = False

    def send(self, line: bytes) -> None:
        if self._is_gone:
            raise LinkLostError
        self.received.put(json.loads(line))

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._lines.get()) is not None:
            yield line
        # A link that has ended stays so.
        self._lines.put(None)

    def close(self) -> None:
        self.closed.set()
        self.end()

    def answer(self, id_: int, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "result": result})

    def say(self, message: dict[str, Any]) -> None:
        self._lines.put(json.dumps(message).encode())

    def end(self) -> None:
        self._is_gone = True
        self._lines.put(None)

    def next(self) -> dict[str, Any]:
        return self.received.get(timeout=PATIENCE_SECONDS)


class Client:
    """A client over pipes, and the links that the relay opens one after the other."""

    def __init__(self) -> None:
        self.links = [FakeLink() for _ in range(3)]
        self._next = iter(self.links)
        read, write = os.pipe()
        self._input = os.fdopen(write, "wb")
        self._source = os.fdopen(read, "rb")
        read, write = os.pipe()
        self._output = os.fdopen(read, "rb")
        self._sink = os.fdopen(write, "wb")
        self._relay = Relay(next(self._next), lambda: next(self._next), self._sink)
        self._thread = threading.Thread(target=self._relay.run, args=(self._source,), daemon=True)
        self._thread.start()

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            self._input.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self._input.flush()

    def hear(self) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads(self._output.readline())
        return heard

    def end_input(self) -> None:
        self._input.close()

    def wait(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def close(self) -> None:
        for link in self.links:
            link.end()
        for file in (self._input, self._source, self._output, self._sink):
            file.close()


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    if not client._input.closed:
        client.end_input()
    client.wait()
    client.close()


def test_lines_pass_in_both_directions(client: Client) -> None:
    first = client.links[0]
    client.say(GREETING)
    assert first.next() == GREETING
    first.answer(0, "hello")
    assert client.hear()["result"] == "hello"
    asked = {"jsonrpc": "2.0", "id": "of-server", "method": "roots/list"}
    first.say(asked)
    assert client.hear() == asked


def test_next_link_gets_the_handshake_and_its_greeting_stays_hidden(client: Client) -> None:
    first, second, _ = client.links
    client.say(GREETING)
    first.answer(first.next()["id"], "hello")
    assert client.hear()["result"] == "hello"
    client.say(INITIALIZED)
    assert first.next() == INITIALIZED
    first.end()
    assert second.next() == GREETING
    second.answer(0, "hello again")
    assert second.next() == INITIALIZED
    client.say(CALL)
    assert second.next() == CALL
    second.answer(7, "found")
    assert client.hear() == {"jsonrpc": "2.0", "id": 7, "result": "found"}


def test_unanswered_call_gets_an_error_when_its_server_ends(client: Client) -> None:
    first, second, _ = client.links
    client.say(GREETING)
    first.answer(first.next()["id"], "hello")
    client.hear()
    client.say(CALL)
    assert first.next() == CALL
    first.end()
    second.answer(second.next()["id"], "hello again")
    refused = client.hear()
    assert refused["id"] == 7
    assert "unknown whether the call was carried out" in refused["error"]["message"]
    assert second.received.empty(), "a call that may have been carried out is not repeated"


def test_unread_call_is_repeated_when_its_server_was_replaced(client: Client) -> None:
    first, second, _ = client.links
    client.say(GREETING)
    first.answer(first.next()["id"], "hello")
    client.hear()
    client.say(CALL)
    assert first.next() == CALL
    first.is_replaced = True
    first.end()
    second.answer(second.next()["id"], "hello again")
    assert second.next() == CALL
    second.answer(7, "found")
    assert client.hear()["result"] == "found"


def test_unanswered_greeting_is_answered_by_the_next_link(client: Client) -> None:
    first, second, _ = client.links
    client.say(GREETING)
    assert first.next() == GREETING
    first.end()
    second.answer(second.next()["id"], "hello")
    assert client.hear() == {"jsonrpc": "2.0", "id": 0, "result": "hello"}


def test_link_that_ends_during_the_handshake_is_replaced(client: Client) -> None:
    first, second, third = client.links
    client.say(GREETING)
    first.answer(first.next()["id"], "hello")
    client.hear()
    first.end()
    second.next()
    second.end()
    third.answer(third.next()["id"], "hello")
    client.say(CALL)
    assert third.next() == CALL
    third.answer(7, "found")
    assert client.hear()["result"] == "found"


def test_process_ends_if_no_server_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: SimpleQueue[int] = SimpleQueue()

    def fail() -> FakeLink:
        raise FileNotFoundError(2, "No such file or directory", "/old/bin/python")

    monkeypatch.setattr(os, "_exit", codes.put)
    link = FakeLink()
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as client:
        running = threading.Thread(target=Relay(link, fail, io.BytesIO()).run, args=(source,))
        running.start()
        link.end()
        assert codes.get(timeout=PATIENCE_SECONDS) == 1
        client.close()
        running.join(PATIENCE_SECONDS)


def test_end_of_input_waits_for_answers(client: Client) -> None:
    first = client.links[0]
    client.say(CALL)
    first.next()
    client.end_input()
    assert not first.closed.is_set()
    first.answer(7, "found")
    assert client.hear()["result"] == "found"
    client.wait()
    assert first.closed.is_set()


@pytest.mark.parametrize("named", [7, "7"])
def test_end_of_input_does_not_wait_for_a_cancelled_call(
    client: Client, monkeypatch: pytest.MonkeyPatch, named: int | str
) -> None:
    monkeypatch.setattr(relay, "_DRAIN_SECONDS", 20 * PATIENCE_SECONDS)
    client.say(CALL, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": named}})
    assert [client.links[0].next()["method"] for _ in range(2)] == ["tools/call", "notifications/cancelled"]
    client.end_input()
    client.wait()


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": {}}, {"requestId": 8}])
def test_strange_cancellation_settles_no_call(client: Client, params: Any) -> None:
    client.say(CALL, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    assert [client.links[0].next()["method"] for _ in range(2)] == ["tools/call", "notifications/cancelled"]
    client.links[0].end()
    assert client.hear()["id"] == 7


def test_line_that_is_too_long_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LONGEST_LINE", 200)
    client.say({**CALL, "params": {"text": "x" * 200}})
    refused = client.hear()
    assert refused["id"] == 7
    assert "at most 200 are allowed" in refused["error"]["message"]
    assert client.links[0].received.empty()


@pytest.mark.parametrize("text", [b"no JSON", b"[]", b'{"id": {}}', b"\xff\xfe"])
def test_message_without_a_usable_id_is_passed_on(text: bytes) -> None:
    sent: list[bytes] = []

    class Link(FakeLink):
        def send(self, line: bytes) -> None:
            sent.append(line)

    Relay(Link(), Link, io.BytesIO()).run(io.BytesIO(text + b"\n"))
    assert sent == [text]
