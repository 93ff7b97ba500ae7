"""The time that a connection gets for the headers of a request, against a real server."""

from __future__ import annotations

import pytest

from opencode_memory.server.guards import limited_protocol
from support.asgi import Echo
from support.http_server import HttpServer, read_response

SHORT = 0.05
LONG = 60.0
REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"


@pytest.mark.parametrize("sent", [b"", b"POST", REQUEST])
def test_connection_without_complete_headers_is_closed(sent: bytes) -> None:
    with HttpServer(Echo(), limited_protocol(SHORT)) as server, server.connect() as client:
        client.sendall(sent)
        head, body = read_response(client)
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive in time" in body


def test_second_request_of_a_connection_gets_its_own_time() -> None:
    with HttpServer(Echo(), limited_protocol(SHORT)) as server, server.connect() as client:
        client.sendall(REQUEST + b"\r\nhi")
        answer = b""
        while not answer.endswith(b"\r\n0\r\n\r\n"):
            answer += client.recv(65536)
        client.sendall(b"POST")
        head, _ = read_response(client)
    assert head.startswith(b"HTTP/1.1 408 ")


def test_address_that_is_too_long_is_refused_at_once() -> None:
    echo = Echo()
    with HttpServer(echo, limited_protocol(LONG)) as server, server.connect() as client:
        client.sendall(b"GET /" + b"x" * 65_536)
        head, body = read_response(client)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body
    assert echo.bodies == []


def test_headers_in_pieces_are_served_and_the_body_has_no_such_limit() -> None:
    echo = Echo()
    with HttpServer(echo, limited_protocol(LONG)) as server, server.connect() as client:
        for piece in (REQUEST[:10], REQUEST[10:], b"Connection: close\r\n\r\n", b"h", b"i"):
            client.sendall(piece)
        head, _ = read_response(client)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert echo.bodies == [b"hi"]


def test_body_after_the_deadline_of_the_headers_is_served() -> None:
    echo = Echo()
    with HttpServer(echo, limited_protocol(SHORT)) as server, server.connect() as slow, server.connect() as clock:
        slow.sendall(REQUEST + b"Connection: close\r\n\r\n")
        # The deadline of the second connection, which began later, shows that the first one's has passed.
        read_response(clock)
        slow.sendall(b"hi")
        head, _ = read_response(slow)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert echo.bodies == [b"hi"]
