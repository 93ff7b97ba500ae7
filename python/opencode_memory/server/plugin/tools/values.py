"""The seed's tools for short-lived values by key; they are those of MCP under the seed's names."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from opencode_memory.errors import NotFoundError
from opencode_memory.server.answers import Answer
from opencode_memory.server.call import SessionCall
from opencode_memory.server.toolbox import tool
from opencode_memory.server.tools import kv
from opencode_memory.server.tools.argument_types import Key


@tool(name="memory-kv-set", repeats=True)
def kv_set(
    call: SessionCall,
    key: Key,
    value: Annotated[Any, Field(description="any JSON")],
    ttlMs: Annotated[float | None, Field(gt=0, le=1e13, description="default 7 days")] = None,  # noqa: N803  the seed's
) -> Answer:
    """Keep a value of this project for a while."""
    return kv.kv_set.run(call, key, value, ttl_seconds=None if ttlMs is None else ttlMs / 1000)


@tool(name="memory-kv-get", reads=True)
def kv_get(call: SessionCall, key: Key) -> Answer:
    """The value of a key."""
    try:
        return kv.kv_get.run(call, key)
    except NotFoundError as error:
        error.hint = "memory-kv-list shows the keys"
        raise


@tool(name="memory-kv-list", reads=True)
def kv_list(call: SessionCall, prefix: Annotated[str, Field(max_length=512)] = "") -> Answer:
    """Keys and the beginnings of their values."""
    return kv.kv_list.run(call, prefix)


@tool(name="memory-kv-delete", destroys=True, repeats=True)
def kv_delete(call: SessionCall, key: Key) -> Answer:
    """Delete a value."""
    return kv.kv_delete.run(call, key)
