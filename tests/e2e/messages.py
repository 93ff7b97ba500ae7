"""MCP messages on the wire, for clients without the SDK."""

from __future__ import annotations

import json
from typing import Any

VERSION = "2025-11-25"
"""The last version of the protocol that begins with a greeting."""
ACCEPT = {"accept": "application/json, text/event-stream", "mcp-protocol-version": VERSION}
"""The headers of every request over HTTP."""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def greeting() -> dict[str, Any]:
    """The request that begins a session."""
    who = {"name": "test", "version": "1"}
    return message("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": who})


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return message("tools/call", {"name": tool, "arguments": arguments})


def answered(text: str) -> dict[str, Any]:
    """The data of a tool's answer, which comes as an event of a stream or bare."""
    [line] = [line.removeprefix("data: ") for line in text.splitlines() if '"jsonrpc"' in line]
    result: dict[str, Any] = json.loads(line)["result"]
    assert not result["isError"], result
    data: dict[str, Any] = result["structuredContent"]
    return data
