"""The number of open connections, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from socket import socket

import pytest

from opencode_memory.server.guards import counted_protocol, divide_files, limited_protocol
from support.asgi import Echo
from support.http_server import HttpServer, read_response

MOST = 3
LONG = 60.0
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n"
CONTINUES = b"HTTP/1.1 100 "
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
UPGRADED = b"HTTP/1.1 101 "
FIRST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"


class Limited:
    """A server with a limit of connections, and its clients."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        protocol = counted_protocol(limited_protocol(LONG), most=MOST, on_refused=self.refused.append)
        self._stack = ExitStack()
        self.server = self._stack.enter_context(HttpServer(Echo(), protocol, ws="websockets-sansio"))

    def connect(self) -> socket:
        return self._stack.enter_context(self.server.connect())

    def begin(self) -> socket:
        """Connect, and return when the server reads the body of a request."""
        client = self.connect()
        client.sendall(HEAD + b"Expect: 100-continue\r\n\r\n")
        assert client.recv(65_536).startswith(CONTINUES)
        return client

    def ask(self) -> bytes:
        """Return the head of the answer to a request on a connection of its own; empty if it is closed."""
        client = self.connect()
        try:
            client.sendall(HEAD + b"\r\nhi")
            return read_response(client)[0]
        except ConnectionError:
            return b""

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def limited() -> Iterator[Limited]:
    server = Limited()
    yield server
    server.close()


def read_until(client: socket, wanted: bytes) -> None:
    said = b""
    while wanted not in said:
        piece = client.recv(65_536)
        assert piece, said
        said += piece


def is_closed(client: socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_oldest_idle_connection_makes_room(limited: Limited) -> None:
    idle = [limited.connect() for _ in range(MOST)]
    assert limited.ask().startswith(b"HTTP/1.1 200 ")
    assert is_closed(idle[0])
    assert limited.refused == ["connections"]
    idle[1].sendall(HEAD + b"\r\nhi")
    assert read_response(idle[1])[0].startswith(b"HTTP/1.1 200 ")


def test_running_requests_keep_their_connections(limited: Limited) -> None:
    running = [limited.begin() for _ in range(MOST)]
    assert limited.ask() == b""
    assert limited.refused == ["connections"]
    for client in running:
        client.sendall(b"hi")
        assert read_response(client)[0].startswith(b"HTTP/1.1 200 ")


def test_closed_connections_do_not_count(limited: Limited) -> None:
    for _ in range(3 * MOST):
        assert limited.ask().startswith(b"HTTP/1.1 200 ")
    assert limited.refused == []


@pytest.mark.parametrize("before", [b"", FIRST], ids=["at once", "behind a request"])
def test_websockets_do_not_count(limited: Limited, before: bytes) -> None:
    websockets = [limited.connect() for _ in range(MOST)]
    for client in websockets:
        client.sendall(before + UPGRADE)
        read_until(client, UPGRADED)
    for _ in range(MOST - 1):
        limited.connect()
    assert limited.ask().startswith(b"HTTP/1.1 200 ")
    assert limited.refused == []


@pytest.mark.parametrize(
    ("files", "connections", "batch"), [(200, 100, 6), (1_024, 768, 16), (1 << 16, 65_280, 16), (1, 1, 1)]
)
def test_server_keeps_files_for_itself(files: int, connections: int, batch: int) -> None:
    assert divide_files(files) == (connections, batch)
