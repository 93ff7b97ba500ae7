"""An ASGI app to put behind a guard, and raw requests as a hostile client could send them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

Headers = Iterable[tuple[bytes, bytes]]
OUR_HOST = (b"host", b"127.0.0.1:9824")


class Echo:
    """Returns the body of a request in pieces, and records scopes and bodies."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope["type"])
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            text = (await receive())["text"]
            await send({"type": "websocket.send", "text": text})
            await send({"type": "websocket.close", "code": 1000})
        else:
            body, more = b"", True
            while more:
                message = await receive()
                assert message["type"] == "http.request"
                body += message.get("body", b"")
                more = message.get("more_body", False)
            self.bodies.append(body)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-echo", b"yes")]})
            for piece in (body[:1], body[1:]):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class Answer:
    """The messages that an app sent."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = list(messages)

    @property
    def status(self) -> int:
        return self.messages[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages[1:])

    @property
    def refusal(self) -> dict[str, str]:
        assert self.headers[b"content-type"] == b"application/json"
        assert int(self.headers[b"content-length"]) == len(self.body)
        refusal = json.loads(self.body)
        assert set(refusal) == {"error", "hint"}
        return refusal


def http_scope(headers: Headers = (OUR_HOST,), *, path: str = "/mcp", **more: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": list(headers),
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 9824),
        **more,
    }


def websocket_scope(headers: Headers = (OUR_HOST,), *, denial: bool = False, **more: Any) -> dict[str, Any]:
    scope = http_scope(headers, **more)
    del scope["method"]
    extensions: dict[str, Any] = {"websocket.http.response": {}} if denial else {}
    return {**scope, "type": "websocket", "scheme": "ws", "subprotocols": [], "extensions": extensions}


def body_messages(*pieces: bytes) -> list[dict[str, Any]]:
    return [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, start=1)
    ]


def ask(app: Any, scope: dict[str, Any], messages: Sequence[dict[str, Any]] | None = None) -> Answer:
    """Run an app for one scope. After ``messages`` (default: an empty body) the client disconnects."""
    sent: list[Any] = []
    waiting = list(body_messages(b"") if messages is None else messages)

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return Answer(sent)
