"""Answers to lines that are no messages of JSON-RPC.

The SDK drops such a line without an answer, so its client would wait for ever.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

from opencode_memory.server.request_ids import INVALID_REQUEST, build_refusal, refuse_id

_PARSE_ERROR: Final = -32700


def refuse_malformed(line: str) -> dict[str, Any] | None:
    """Return the JSON-RPC error for a line that the SDK would drop; None for all other lines.

    Notifications and answers get no error, because JSON-RPC forbids to answer them.

    >>> refuse_malformed('{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refuse_malformed('{"jsonrpc": "2.0", "id": 7, "method"')["error"]["code"]
    -32700
    >>> refuse_malformed('{"id": 7, "method": "ping"}')["id"]
    7
    """
    try:
        message = from_json(line)
    except ValueError:
        return build_refusal(_PARSE_ERROR, "the line is not valid JSON; send each message as one line of JSON")
    if not isinstance(message, dict):
        return build_refusal(INVALID_REQUEST, "a message must be an object; send each one as a line of its own")
    if (refusal := refuse_id(message)) is not None:
        return refusal
    try:
        jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        if "result" in message or "error" in message or ("id" not in message and "method" in message):
            return None
        text = 'a request must have "jsonrpc": "2.0", a text as method, and an object as params'
        return build_refusal(INVALID_REQUEST, text, id=message.get("id"))
    return None
