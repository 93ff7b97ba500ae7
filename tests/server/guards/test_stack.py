"""All guards together in the order of the server, over ASGI and over real sockets."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import httpx2
import pytest
from starlette.testclient import TestClient

from opencode_memory.server.guards import ApiKey, BodyLimit, Fence, RateLimit, default_hosts, default_origins
from support.asgi import OUR_HOST, Echo, ask, body_messages, http_scope, websocket_scope
from support.http_server import PROTOCOLS, HttpServer, read_response

KEY = {"x-api-key": "s3cret"}
LIMIT = 1_000_000


def build_stack(app: Any, refused: list[str], *, per_minute: int = 100) -> Any:
    app = BodyLimit(app, limit=LIMIT, on_refused=refused.append)
    app = ApiKey(app, key=KEY["x-api-key"], open_paths=frozenset({"/health"}), on_refused=refused.append)
    app = RateLimit(
        app,
        per_minute=per_minute,
        known_session=lambda session: False,
        clock=lambda: 0.0,
        on_refused=refused.append,
        exempt=frozenset({"/health"}),
    )
    return Fence(app, hosts=default_hosts("127.0.0.1"), origins=default_origins("127.0.0.1"), on_refused=refused.append)


def test_valid_request_passes_all_guards_unchanged() -> None:
    echo, refused = Echo(), list[str]()

    async def pieces():
        for _ in range(10):
            yield b"x" * 50_000

    async def go() -> None:
        transport = httpx2.ASGITransport(app=build_stack(echo, refused))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:9824", headers=KEY) as client:
            assert (await client.post("/mcp", content=b"hello")).content == b"hello"
            assert (await client.post("/mcp", content=pieces())).content == b"x" * 500_000
            assert (await client.get("/health")).headers["x-echo"] == "yes"

    anyio.run(go)
    assert echo.bodies == [b"hello", b"x" * 500_000, b""]
    assert refused == []


def test_lifespan_and_websocket_pass_all_guards() -> None:
    echo, refused = Echo(), list[str]()
    with (
        TestClient(build_stack(echo, refused), base_url="http://localhost:9824") as client,
        client.websocket_connect("/ws", headers={**KEY, "host": "localhost"}) as socket,
    ):
        socket.send_text("hello")
        assert socket.receive_text() == "hello"
    assert echo.scopes == ["lifespan", "websocket"]
    assert refused == []


@pytest.mark.parametrize("make", [http_scope, websocket_scope])
def test_request_without_headers_is_refused(make: Any) -> None:
    refused: list[str] = []
    echo = Echo()
    ask(build_stack(echo, refused), make([]), [])
    assert refused == ["host"]
    assert echo.scopes == []


def test_refusal_is_reported_once() -> None:
    right = [OUR_HOST, (b"x-api-key", b"s3cret")]
    for headers, reason in [
        ([], "host"),
        ([*right, (b"origin", b"null")], "origin"),
        ([OUR_HOST], "key"),
        ([*right, (b"content-length", b"-1")], "body"),
    ]:
        refused: list[str] = []
        ask(build_stack(Echo(), refused), http_scope(headers), body_messages(b"hello"))
        assert refused == [reason]


def test_key_guesses_are_rate_limited() -> None:
    refused: list[str] = []
    app = build_stack(Echo(), refused, per_minute=3)
    for _ in range(5):
        ask(app, http_scope([OUR_HOST, (b"x-api-key", b"guess")]))
    assert refused == ["key"] * 3 + ["rate"] * 2


def send_raw(server: HttpServer, request: bytes) -> tuple[bytes, bytes]:
    with server.connect() as client:
        client.sendall(request)
        return read_response(client)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_malformed_requests_on_the_wire_do_not_bypass_the_guards(protocol: type[asyncio.Protocol]) -> None:
    echo, refused = Echo(), list[str]()
    tail = b"X-API-Key: s3cret\r\nConnection: close\r\n\r\n"
    with HttpServer(build_stack(echo, refused), protocol) as server:
        for request in [
            b"GET /mcp HTTP/1.0\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost:\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: evil.com\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: localhost, evil.com\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: localhost:9824@evil\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: \xff\r\n" + tail,
            b"GET http://localhost/mcp HTTP/1.1\r\nHost: evil.com\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nX-API-Key: \xff\r\n" + tail,
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: s3cret2\r\nConnection: close\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n" + tail + b"hello",
        ]:
            head, _ = send_raw(server, request)
            assert head[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 403"}, request
        assert echo.scopes == []
        assert send_raw(server, b"GET /mcp HTTP/1.1\r\nHost: LOCALHOST.:1\r\n" + tail)[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_client_gets_413_and_can_send_again(protocol: type[asyncio.Protocol]) -> None:
    refused: list[str] = []
    large = b"x" * (5 * LIMIT)
    with HttpServer(build_stack(Echo(), refused), protocol) as server:
        url = f"http://127.0.0.1:{server.address[1]}/mcp"
        with httpx2.Client(headers=KEY, trust_env=False) as client:
            assert client.post(url, content=large).status_code == 413
            assert client.post(url, content=iter([large])).status_code == 413
            assert client.post(url, content=iter([b"x"] * 100)).content == b"x" * 100
    assert refused == ["body", "body"]


class Events:
    """Streams one event, and a second one after the client has received the first; then waits for the disconnect."""

    def __init__(self) -> None:
        self.seen = threading.Event()
        self.left = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert not (await receive())["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        assert await asyncio.to_thread(self.seen.wait, 60)
        await send({"type": "http.response.body", "body": b"data: 2\n\n", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        self.left.set()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_event_stream_is_not_buffered(protocol: type[asyncio.Protocol]) -> None:
    events, refused = Events(), list[str]()
    with HttpServer(build_stack(events, refused), protocol) as server:
        url = f"http://127.0.0.1:{server.address[1]}/mcp"
        with httpx2.stream("GET", url, headers=KEY, trust_env=False) as answer:
            pieces = answer.iter_bytes()
            assert read_pieces(pieces) == b"data: 1\n\n"
            events.seen.set()
            assert read_pieces(pieces) == b"data: 2\n\n"
        assert events.left.wait(60)
    assert refused == []


def read_pieces(pieces: Any) -> bytes:
    return next(piece for piece in pieces if piece)
