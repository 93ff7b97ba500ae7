"""All guards together, in the order in which a server stacks them, over ASGI and over real sockets."""

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
from support.http_server import PROTOCOLS, HttpServer, answer_of

KEY = {"x-api-key": "s3cret"}
LIMIT = 1_000_000


def guarded(app: Any, refused: list[str], *, per_minute: int = 100) -> Any:
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


def test_a_good_request_passes_all_guards_with_its_body_and_its_answer() -> None:
    echo, refused = Echo(), list[str]()

    async def pieces():
        for _ in range(10):
            yield b"x" * 50_000

    async def go() -> None:
        transport = httpx2.ASGITransport(app=guarded(echo, refused))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:9824", headers=KEY) as client:
            assert (await client.post("/mcp", content=b"hello")).content == b"hello"
            assert (await client.post("/mcp", content=pieces())).content == b"x" * 500_000
            assert (await client.get("/health")).headers["x-echo"] == "yes"

    anyio.run(go)
    assert echo.bodies == [b"hello", b"x" * 500_000, b""]
    assert refused == []


def test_lifespan_and_websockets_pass_all_guards() -> None:
    echo, refused = Echo(), list[str]()
    with (
        TestClient(guarded(echo, refused), base_url="http://localhost:9824") as client,
        client.websocket_connect("/ws", headers={**KEY, "host": "localhost"}) as socket,
    ):
        socket.send_text("hello")
        assert socket.receive_text() == "hello"
    assert echo.scopes == ["lifespan", "websocket"]
    assert refused == []


@pytest.mark.parametrize("make", [http_scope, websocket_scope])
def test_a_request_without_any_header_is_refused_and_not_a_crash(make: Any) -> None:
    refused: list[str] = []
    echo = Echo()
    ask(guarded(echo, refused), make([]), [])
    assert refused == ["host"]
    assert echo.scopes == []


def test_a_refusal_is_reported_once_by_the_guard_that_refused() -> None:
    right = [OUR_HOST, (b"x-api-key", b"s3cret")]
    for headers, reason in [
        ([], "host"),
        ([*right, (b"origin", b"null")], "origin"),
        ([OUR_HOST], "key"),
        ([*right, (b"content-length", b"-1")], "body"),
    ]:
        refused: list[str] = []
        ask(guarded(Echo(), refused), http_scope(headers), body_messages(b"hello"))
        assert refused == [reason]


def test_guesses_of_the_key_are_limited_too() -> None:
    refused: list[str] = []
    app = guarded(Echo(), refused, per_minute=3)
    for _ in range(5):
        ask(app, http_scope([OUR_HOST, (b"x-api-key", b"guess")]))
    assert refused == ["key"] * 3 + ["rate"] * 2


def said_to(server: HttpServer, request: bytes) -> tuple[bytes, bytes]:
    with server.connect() as client:
        client.sendall(request)
        return answer_of(client)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requests_that_are_bent_on_the_wire_do_not_get_around_the_guards(protocol: type[asyncio.Protocol]) -> None:
    echo, refused = Echo(), list[str]()
    tail = b"X-API-Key: s3cret\r\nConnection: close\r\n\r\n"
    with HttpServer(guarded(echo, refused), protocol) as server:
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
            head, _ = said_to(server, request)
            assert head[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 403"}, request
        assert echo.scopes == []
        assert said_to(server, b"GET /mcp HTTP/1.1\r\nHost: LOCALHOST.:1\r\n" + tail)[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_sends_too_much_is_told_and_may_go_on(protocol: type[asyncio.Protocol]) -> None:
    refused: list[str] = []
    large = b"x" * (5 * LIMIT)
    with HttpServer(guarded(Echo(), refused), protocol) as server:
        url = f"http://127.0.0.1:{server.address[1]}/mcp"
        with httpx2.Client(headers=KEY, trust_env=False) as client:
            assert client.post(url, content=large).status_code == 413
            assert client.post(url, content=iter([large])).status_code == 413
            assert client.post(url, content=iter([b"x"] * 100)).content == b"x" * 100
    assert refused == ["body", "body"]


class Events:
    """Streams one event, and the second only when the client has told that it has the first; then waits for its end."""

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
def test_a_stream_of_events_is_not_held_back(protocol: type[asyncio.Protocol]) -> None:
    events, refused = Events(), list[str]()
    with HttpServer(guarded(events, refused), protocol) as server:
        url = f"http://127.0.0.1:{server.address[1]}/mcp"
        with httpx2.stream("GET", url, headers=KEY, trust_env=False) as answer:
            pieces = answer.iter_bytes()
            assert received(pieces) == b"data: 1\n\n"
            events.seen.set()
            assert received(pieces) == b"data: 2\n\n"
        assert events.left.wait(60)
    assert refused == []


def received(pieces: Any) -> bytes:
    return next(piece for piece in pieces if piece)
