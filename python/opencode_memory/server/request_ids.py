"""Check of the ids of JSON-RPC requests.

The protocol allows texts and integers. The SDK takes a request with any other id for a notification and never answers
it, so its client would wait for ever.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic_core import from_json

INVALID_REQUEST: Final = -32600
_KINDS: Final = {
    bool: "a boolean",
    dict: "an object",
    list: "an array",
    float: "a number that is not an integer",
    type(None): "null",
}
_NOTIFICATION: Final = "notifications/"


def refuse_invalid_id(message: str | bytes) -> dict[str, Any] | None:
    """Return the JSON-RPC error for a request with an invalid id; None for all other messages.

    A null id of a notification passes, because some clients send it.

    >>> refuse_invalid_id('{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refuse_invalid_id('{"jsonrpc": "2.0", "id": [7], "method": "ping"}')["error"]["message"]
    'id: must be a string or an integer, not an array'
    >>> refuse_invalid_id('{"jsonrpc": "2.0", "id": null, "method": "notifications/initialized"}')
    """
    try:
        request = from_json(message)
    except ValueError:
        return None
    return refuse_id(request) if isinstance(request, dict) else None


def refuse_id(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON-RPC error for a parsed request with an invalid id; None for all other messages."""
    if "method" not in request or "id" not in request:
        return None
    id_ = request["id"]
    if id_ is None and str(request["method"]).startswith(_NOTIFICATION):
        return None
    kind = _KINDS.get(type(id_))
    if kind is None:
        return None
    if isinstance(id_, float) and id_.is_integer():
        kind = "an integer with a decimal point or an exponent"
    return build_refusal(INVALID_REQUEST, f"id: must be a string or an integer, not {kind}")


def build_refusal(code: int, text: str, *, id: str | int | None = None) -> dict[str, Any]:
    """Build a JSON-RPC error; the id is None if that of the request is not known."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def encode_refusal(refusal: dict[str, Any]) -> str:
    """Encode an error as one line of JSON."""
    return json.dumps(refusal, ensure_ascii=False)
