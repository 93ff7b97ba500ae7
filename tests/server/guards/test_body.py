"""The limit for request bodies, by declared length and by received bytes."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards import BodyLimit
from support.asgi import Answer, Echo, ask, body_messages, http_scope


class Limited:
    """An echo app behind a limit of ten bytes, and the refusals that the guard reported."""

    def __init__(self, limit: int = 10) -> None:
        self.refused: list[str] = []
        self.echo = Echo()
        self.app = BodyLimit(self.echo, limit=limit, on_refused=self.refused.append)

    def ask(self, *pieces: bytes, length: bytes | None = None, more: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
        headers = ([] if length is None else [(b"content-length", length)]) + list(more)
        answer = ask(self.app, http_scope(headers), body_messages(*pieces))
        if answer.status != 200:
            assert answer.refusal
            assert self.refused == ["body"]
            assert self.echo.scopes == []
        return answer


@pytest.mark.parametrize("pieces", [[b""], [b"0123456789"], [b"01234", b"56789"], [b"0123456789", b""], [b"", b"0"]])
def test_body_up_to_the_limit_is_passed_on_complete(pieces: list[bytes]) -> None:
    limited = Limited()
    body = b"".join(pieces)
    assert limited.ask(*pieces).body == body
    assert limited.ask(*pieces, length=b"%d" % len(body)).body == body
    assert limited.echo.bodies == [body, body]
    assert limited.refused == []


@pytest.mark.parametrize("length", [b"11", b"00011", b"9" * 19, b"9" * 20, b"9" * 10_000])
def test_declared_length_over_the_limit_is_refused_without_reading(length: bytes) -> None:
    asked: list[str] = []

    async def receive() -> None:
        asked.append("body")

    limited = Limited()
    answer = limited.ask(length=length)
    assert answer.status == 413
    assert "10 bytes" in answer.refusal["hint"]
    assert asked == []


@pytest.mark.parametrize("length", [b"0", b"5", b"0005", b"10"])
def test_body_over_the_limit_with_a_smaller_length_is_refused(length: bytes) -> None:
    assert Limited().ask(b"0123456789", b"0", length=length).status == 413
    assert Limited().ask(b"01234567890", length=length).status == 413


@pytest.mark.parametrize("pieces", [[b"x" * 11], [b"x" * 10, b"x"], [b"x"] * 11, [b"", b"x" * 10, b"", b"x", b""]])
def test_body_of_unknown_length_over_the_limit_is_refused(pieces: list[bytes]) -> None:
    assert Limited().ask(*pieces).status == 413


@pytest.mark.parametrize(
    "length", [b"", b" ", b"-1", b"+5", b"5_0", b"5.0", b"0x5", b"5 ", b"5,5", b"five", b"\xd9\xa1", b"\xb2", b"\xff"]
)
def test_content_length_that_is_not_a_number_is_refused(length: bytes) -> None:
    assert Limited().ask(b"01234", length=length).status == 400


def test_repeated_length_or_length_with_encoding_is_refused() -> None:
    assert Limited().ask(b"01234", length=b"5", more=((b"content-length", b"5"),)).status == 400
    assert Limited().ask(b"01234", length=b"5", more=((b"Content-Length", b"6"),)).status == 400
    assert Limited().ask(b"01234", length=b"5", more=((b"Transfer-Encoding", b"chunked"),)).status == 400
    assert Limited().ask(b"01234", more=((b"transfer-encoding", b"chunked"),)).body == b"01234"


def test_incomplete_body_never_reaches_the_app() -> None:
    limited = Limited()
    half = body_messages(b"01", b"23")[:1]
    assert ask(limited.app, http_scope(), half).messages == []
    assert ask(limited.app, http_scope(), []).messages == []
    assert limited.echo.scopes == []
    assert limited.refused == []


def test_app_receives_the_disconnect_message() -> None:
    received = []

    async def app(scope, receive, send) -> None:
        received.extend([(await receive())["type"], (await receive())["type"]])

    ask(BodyLimit(app, limit=10, on_refused=received.append), http_scope(), body_messages(b"0", b"1"))
    assert received == ["http.request", "http.disconnect"]


def test_body_in_single_bytes_needs_no_extra_memory() -> None:
    async def app(scope, receive, send) -> None:
        await receive()

    scope, size = http_scope(), 200_000
    limited = BodyLimit(app, limit=size, on_refused=pytest.fail)
    left = size

    async def receive():
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": b"x", "more_body": left > 0}

    async def measure() -> int:
        tracemalloc.start()
        try:
            await limited(scope, receive, receive)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak = asyncio.run(measure())
    assert left == 0
    assert peak < 4 * size


def test_negative_body_limit_is_rejected() -> None:
    with pytest.raises(InvalidInputError):
        Limited(-1)
    assert Limited(0).ask(b"").status == 200
    assert Limited(0).ask(b"x").status == 413


def test_scopes_without_a_body_pass() -> None:
    limited = Limited()
    with TestClient(limited.app) as client, client.websocket_connect("/ws") as socket:
        socket.send_text("longer than ten bytes")
        assert socket.receive_text() == "longer than ten bytes"
    assert limited.echo.scopes == ["lifespan", "websocket"]


def test_body_that_does_not_arrive_in_time_is_refused() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("nothing arrives")

    async def send(message: Message) -> None:
        sent.append(message)

    refused: list[str] = []
    echo = Echo()
    app = BodyLimit(echo, limit=10, on_refused=refused.append, seconds=0.01)
    asyncio.run(app(http_scope([(b"content-length", b"5")]), receive, send))
    answer = Answer(sent)
    assert answer.status == 408
    assert "0.01 s" in answer.refusal["hint"]
    assert (refused, echo.scopes) == (["body"], [])
