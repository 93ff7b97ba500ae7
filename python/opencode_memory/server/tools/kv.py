"""Tools for the key-value store of short-lived values.

Keys of this program's own state (``store/reserved_keys.py``) do not exist for these tools.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from pydantic import Field

from opencode_memory.errors import NotFoundError
from opencode_memory.server.answers import Answer, indent, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import Key
from opencode_memory.store.reserved_keys import is_reserved, refuse_reserved
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

_WHOLE: Final = 8_000_000


@tool(repeats=True)
def kv_set(
    call: Call,
    key: Key,
    value: Annotated[Any, Field(description="any JSON")],
    ttl_seconds: Annotated[float | None, Field(gt=0, le=1e10, description="default: 7 days")] = None,
) -> Answer:
    """Store a value for a limited time, e.g. the state of a task."""
    refuse_reserved(key)
    default = call.config.kv.default_ttl_seconds or None
    life = default if ttl_seconds is None else ttl_seconds
    redactions = call.store.kv.set(key, value, ttl_seconds=life, project=call.client.project)
    secrets = f" Secrets were redacted: {', '.join(redactions)}." if redactions else ""
    return Answer(
        f"Stored{'' if life is None else f' for {life:.15g} seconds'}.{secrets}", {"key": key, "ttl_seconds": life}
    )


@tool(reads=True, answers=shape(key="string"))
def kv_get(call: Call, key: Key) -> Answer:
    """Get the value of a key."""
    entry = None if is_reserved(key) else call.store.kv.entry(key, project=call.client.project)
    if entry is None:
        error = NotFoundError(f"there is no value for the key {key!r}", id=key)
        error.hint = "kv_list lists the keys"
        raise error
    data = {"key": key, "value": entry.value, "expires_at": to_json(entry.expires_at)}
    return Answer(indent(_format_value(entry.value), _WHOLE), data)


@tool(reads=True, answers=shape(entries="array"))
def kv_list(call: Call, prefix: Annotated[str, Field(max_length=512)] = "") -> Answer:
    """List keys with the beginning of each value."""
    found = call.store.kv.list(prefix, project=call.client.project)
    entries = [entry for entry in found if not is_reserved(entry.key)]
    if not entries:
        return Answer("There are no values.", {"entries": []})
    lines = [
        f"{one_line(entry.key, 120)} = {one_line(_format_value(entry.value), 120)}"
        + ("" if entry.expires_at is None else f" (expires {age(entry.expires_at, at=call.at)})")
        for entry in entries[:100]
    ]
    more = f"… {format_count(len(entries), 'key')} in total" if len(entries) > len(lines) else None
    data = [{"key": entry.key, "expires_at": to_json(entry.expires_at)} for entry in entries]
    return Answer(join_lines(*lines, more), {"entries": data})


@tool(destroys=True, repeats=True)
def kv_delete(call: Call, key: Key) -> Answer:
    """Delete a value."""
    refuse_reserved(key)
    existed = call.store.kv.delete(key, project=call.client.project)
    return Answer("Deleted." if existed else "There was no value for this key.", {"key": key, "deleted": existed})


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
