"""A client of a resident server that calls tools over HTTP, each call in a request of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 60
_ANSWERED: Final = 200
_ACCEPTED: Final = 202


class UnknownOutcomeError(Exception):
    """The server did not answer, so the call may have been done or not."""


class RefusedError(Exception):
    """The server answered with an error, so the call was not done."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a tool: its text, and the same as data."""

    text: str
    data: dict[str, Any]


class ToolClient:
    """Calls tools for a folder.

    Args:
        port: The port of the server on 127.0.0.1.
        folder: The folder that the client works in.
        version: The version of the protocol, as clients name it after `initialize`; None leaves it out.
    """

    def __init__(self, port: int, folder: Path, *, version: str | None = None) -> None:
        self._port = port
        self._headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "x-opencode-directory": str(folder),
        }
        if version is not None:
            self._headers["mcp-protocol-version"] = version
        self._connection: HTTPConnection | None = None

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool.

        Raises:
            UnknownOutcomeError: The connection broke or the server was ending.
            RefusedError: The tool failed.
        """
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise RefusedError(text)
        return Reply(text, result.get("structuredContent") or {})

    def begin_session(self) -> None:
        """Initialize a session, as clients do first; later calls belong to it.

        Raises:
            UnknownOutcomeError: As for ``call``.
        """
        version = self._headers.get("mcp-protocol-version")
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, expected=_ACCEPTED)

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result."""
        body = self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, expected=_ANSWERED)
        try:
            result: dict[str, Any] = _extract_message(body)["result"]
        except (KeyError, ValueError) as error:
            self.close()
            raise UnknownOutcomeError(f"{type(error).__name__}: {error}") from error
        return result

    def _send(self, message: Mapping[str, Any], *, expected: int) -> bytes:
        """Send a message and return the body of the answer."""
        try:
            if self._connection is None:
                self._connection = HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS)
            self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
            response = self._connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise UnknownOutcomeError(f"{type(error).__name__}: {error}") from error
        if response.status != expected:
            self.close()
            raise UnknownOutcomeError(f"status {response.status}: {body[:200]!r}")
        if (session := response.headers.get("mcp-session-id")) is not None:
            self._headers["mcp-session-id"] = session
        return body

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _extract_message(body: bytes) -> dict[str, Any]:
    """Extract the last message from an event stream, or the only one."""
    data = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: {")]
    message: dict[str, Any] = json.loads(data[-1] if data else body)
    return message
