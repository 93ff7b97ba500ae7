"""A client that sends raw JSON-RPC to the ASGI app of a resident server."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

from starlette.testclient import TestClient

HOST = "http://127.0.0.1:9824"
LATEST = "2025-11-25"
_WANTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(frozen=True)
class Answer:
    """A response. ``message`` is the JSON-RPC message without the framing of an event stream."""

    status: int
    headers: dict[str, str]
    message: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The JSON-RPC message."""
        found: dict[str, Any] = json.loads(self.message)
        return found

    @property
    def result(self) -> dict[str, Any]:
        """The result of a request that succeeded."""
        assert "result" in self.json, self.message
        found: dict[str, Any] = self.json["result"]
        return found

    @property
    def session(self) -> str | None:
        """The session that the response starts."""
        return self.headers.get("mcp-session-id")

    @property
    def text(self) -> str:
        """The text of a tool result."""
        text: str = self.result["content"][0]["text"]
        return text


class Wire:
    """A client of an app inside ``with``. Exceptions of the app become status 500."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._client = TestClient(app, base_url=HOST, client=("127.0.0.1", 50_000), raise_server_exceptions=False)

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._client.__exit__(*error)

    def begin_task(self, function: Callable[[], Awaitable[Any]]) -> Future[Any]:
        """Start a coroutine on the event loop of the app."""
        assert self._client.portal is not None
        return self._client.portal.start_task_soon(function)

    def get_raw(self, path: str, headers: dict[str, str | bytes]) -> int:
        """Get a page with headers of bytes, and return the status."""
        return self._client.get(path, headers=headers).status_code

    def get(self, path: str, **headers: str) -> Answer:
        """Get a page."""
        return self.request("GET", path, **headers)

    def request(self, method: str, path: str, body: bytes | str = b"", **headers: str) -> Answer:
        """Send any request. Underscores in header names become hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._client.request(method, path, content=body, headers=named)
        return Answer(answer.status_code, dict(answer.headers), _extract_message(answer.content))

    def post(self, message: Any, **headers: str) -> Answer:
        """Post a message, or any bytes."""
        body = message if isinstance(message, bytes | str) else json.dumps(message)
        return self.request("POST", "/mcp", body, **(_WANTED | headers))

    def ask(self, method: str, parameters: Any = None, **headers: str) -> Answer:
        """Send a JSON-RPC request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        return self.post(message if parameters is None else message | {"params": parameters}, **headers)

    def call(self, tool: str, arguments: Any = None, **headers: str) -> Answer:
        """Call a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, **headers)

    def begin(self, **headers: str) -> str:
        """Start a session and return its id."""
        parameters = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.ask("initialize", parameters, **headers)
        assert answer.session is not None, answer
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=answer.session, **headers)
        return answer.session


def _extract_message(body: bytes) -> bytes:
    """Extract the last message from an event stream."""
    data = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: {")]
    return data[-1] if body.lstrip().startswith((b"event:", b"data:", b"id:")) and data else body
