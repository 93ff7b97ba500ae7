"""Bytes sent to the resident server and to its bridge: each request is answered or closed, and the server goes on."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bridge import Plugin
from support.mcp import TOKEN, World
from support.mcp_http import Answer, Wire
from support.mutation import corpus, damaged, fuzzing, seed_files

SECONDS = 10
PAUSE_SECONDS = 0.3
CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "walrus", "limit": 3}},
    }
).encode()
WANTED = b"Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
REQUESTS = [
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (WANTED, len(CALL), CALL),
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n%sTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (WANTED, len(CALL), CALL),
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    b"GET /stats HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\nConnection: close\r\n\r\n",
    b"DELETE /mcp HTTP/1.1\r\nHost: [::1]\r\nMcp-Session-Id: abc\r\nConnection: close\r\n\r\n",
    b"GET /bridge HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer %s\r\n\r\n\x81\x80\0\0\0\0" % TOKEN.encode(),
]  # fmt: skip
HOSTS = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost:1@evil.example",
    "evil.example:80",
    "127.0.0.1\u3002evil",
    "0x7f.1.evil",
    "",
    "\x7f",
]


@dataclass(frozen=True)
class Shared:
    world: World
    url: str
    folder: Path

    def is_healthy(self) -> bool:
        """Whether the server still answers."""
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as client:
            client.sendall(REQUESTS[2])
            return client.recv(15) == b"HTTP/1.1 200 OK"

    def send(self, raw: bytes) -> bytes:
        """Send bytes and return the answer. A server that waits for more sees the end of this side.

        An accepted WebSocket waits for more as well, so it must end then, too.
        """
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port)) as client:
            said = b""
            # The server may close before it has read everything.
            with suppress(ConnectionError):
                client.sendall(raw)
                client.settimeout(PAUSE_SECONDS)
                try:
                    said = client.recv(65536)
                    is_waiting = said.startswith(b"HTTP/1.1 101")
                except TimeoutError:
                    is_waiting = True
                if is_waiting:
                    client.shutdown(socket.SHUT_WR)
                client.settimeout(SECONDS)
                while piece := client.recv(65536):
                    said += piece
            return said


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with World(tmp_path_factory.mktemp("http"), server__rate_limit="0") as world, world.serve() as server:
        world.store.remember("The walrus sleeps", scope="global")
        yield Shared(world, server.url, world.repository("walrus"))


def test_accepted_bridge_ends_with_its_client(shared: Shared) -> None:
    assert shared.send(REQUESTS[-1]).startswith(b"HTTP/1.1 101")
    assert shared.is_healthy()


@pytest.mark.parametrize("file", seed_files("http"), ids=lambda file: file.name)
def test_kept_request_is_answered_with_its_status(shared: Shared, file: Path) -> None:
    said = shared.send(file.read_bytes())
    status = said.split(b" ", 2)[1].decode() if said else "closed"
    assert status == file.name.split(".")[1], said[:300]
    assert shared.is_healthy()


@fuzzing(20)
@given(damaged([*REQUESTS, *corpus("http")]))
def test_any_bytes_are_answered_or_closed(shared: Shared, damaged: bytes) -> None:
    begin = monotonic()
    said = shared.send(damaged)
    assert monotonic() - begin < SECONDS
    assert not said or re.match(rb"HTTP/1\.1 [1-5]\d\d", said), said[:200]
    assert not re.match(rb"HTTP/1\.1 50[0-2]", said), (damaged[:300], said[:300])
    assert b"Traceback" not in said
    assert shared.is_healthy()


@fuzzing(80)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"]),
    path=st.sampled_from(["/mcp", "/stats", "/metrics", "/", "/bridge", "/mcp/..", "/%2e%2e/etc/passwd"]),
    host=st.sampled_from(HOSTS),
    as_origin=st.booleans(),
)
def test_foreign_host_or_origin_is_refused(shared: Shared, method: str, path: str, host: str, as_origin: bool) -> None:
    first = f"Host: 127.0.0.1\r\nOrigin: http://{host}" if as_origin else f"Host: {host}"
    head = f"{method} {path} HTTP/1.1\r\n{first}\r\nConnection: close\r\n\r\n".encode()
    status = shared.send(head).split(b" ", 2)[1]
    assert status[:1] == b"4", (head, status)


IDS = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=5), st.booleans(), st.lists(st.integers(), max_size=2)
)
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None])},
    optional={
        "id": IDS,
        "method": st.sampled_from(["tools/list", "tools/call", "ping", "initialize", "notifications/cancelled", "no/such", "", 5, None]),
        "params": st.sampled_from(
            [{}, [], None, 5, {"name": "recall"}, {"name": "recall", "arguments": {"query": "a\ud800\0"}}, {"name": None}, {"_meta": 5},
             {"name": "kv_set", "arguments": {"key": "a", "value": {"a\ud800": {"\0": "\ud800"}}}}, {"name": "kv_list", "arguments": {}},
             {"name": "kv_get", "arguments": {"key": "a"}}, {"name": "recall", "arguments": {"query": "x", "b\ud800": {"\ud800": 1}}}]
        ),
    },
)  # fmt: skip


@fuzzing(80)
@given(st.lists(MESSAGE, max_size=3) | MESSAGE)
def test_any_json_rpc_message_is_answered(wire: Wire, message: object) -> None:
    check_answer(wire.post(json.dumps(message)), message)


@fuzzing(80)
@given(damaged(corpus("json_rpc")))
def test_any_damaged_json_rpc_message_is_answered(wire: Wire, damaged: bytes) -> None:
    check_answer(wire.post(damaged), damaged)


@pytest.mark.parametrize("file", seed_files("json_rpc"), ids=lambda file: file.name)
def test_kept_message_is_answered_with_its_status(wire: Wire, file: Path) -> None:
    answer = wire.post(file.read_bytes())
    check_answer(answer, file.name)
    assert str(answer.status) == file.name.split(".")[1], answer


def test_call_that_is_sent_as_a_notification_is_not_executed(wire: Wire) -> None:
    [file] = [file for file in seed_files("json_rpc") if file.name.startswith("notification_call")]
    key = json.loads(file.read_bytes())["params"]["arguments"]["key"]
    assert wire.post(file.read_bytes()).message == b""
    assert wire.call("kv_list", {"prefix": key}).text == "There are no values."


def check_answer(answer: Answer, message: object) -> None:
    """Check what holds for the answer to any message."""
    assert answer.status in (200, 202, 400), (message, answer)
    assert b"Traceback" not in answer.message
    assert b"internal error" not in answer.message.lower(), (message, answer)
    if answer.message:
        json.loads(answer.message, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with World(tmp_path_factory.mktemp("wire"), server__rate_limit="0") as world, Wire(world.app()) as wire:
        yield wire


TOLD = [
    json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    for method, params in (
        ("tool", {"sessionID": "s", "messageID": "m", "agent": "build", "tool": "memory-read", "arguments": {"query": "walrus"}}),
        ("messages", {"sessionID": "s", "visible": ["m"], "message": {"id": "m", "text": "How do walruses sleep?"}}),
        ("command", {"sessionID": "s", "command": "remember", "arguments": "the walrus"}),
        ("events", {"directory": "/x", "events": [{"type": "session.idle", "properties": {"sessionID": "s"}}]}),
    )
]  # fmt: skip


@fuzzing(40)
@given(st.lists(damaged(TOLD), max_size=4))
def test_any_text_to_the_bridge_keeps_the_connection(shared: Shared, messages: list[bytes]) -> None:
    with Plugin(shared.url, shared.folder) as plugin:
        for message in messages:
            plugin.send(message.decode(errors="replace"))
        plugin.flush()
        while not plugin.strays.empty():
            text = json.dumps(plugin.strays.get())
            assert "Traceback" not in text
            assert "internal error" not in text, (messages, text)


def test_store_is_sound_and_nothing_was_logged_as_a_bug(shared: Shared, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        for raw in REQUESTS:
            shared.send(raw[: len(raw) // 2])
    assert caplog.records == []
    report = shared.world.store.indexes.verify()
    assert (report.store_problems, report.index_problems) == ((), ())
