"""A client of a resident server that calls tools over HTTP, each call in a request of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 60
_ANSWERED: Final = 200


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
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        try:
            if self._connection is None:
                self._connection = HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS)
            self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
            response = self._connection.getresponse()
            body = response.read()
            if response.status != _ANSWERED:
                raise UnknownOutcomeError(f"status {response.status}: {body[:200]!r}")
            result = _extract_message(body)["result"]
        except (OSError, HTTPException, KeyError, ValueError) as error:
            self.close()
            raise UnknownOutcomeError(f"{type(error).__name__}: {error}") from error
        text = "".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise RefusedError(text)
        return Reply(text, result.get("structuredContent") or {})

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
