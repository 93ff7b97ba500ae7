"""Aliases: MCP tools that the plugin offers under other names."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Annotated, Any, Final

from pydantic import Field

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.server.answers import Answer
from opencode_memory.server.call import SessionCall
from opencode_memory.server.toolbox import Tool, tool
from opencode_memory.server.tools import kv
from opencode_memory.server.tools.argument_types import Key

_ALIASES: Final = {
    "memory-kv-get": kv.kv_get,
    "memory-kv-list": kv.kv_list,
    "memory-kv-delete": kv.kv_delete,
}


def alias(offered: Tool, name: str) -> Tool:
    """Offer an MCP tool under another name, with the same description and arguments.

    The hint of an error may name an MCP tool, for example ``kv_list``. The plugin offers no tool of that name, so the
    hint gets the alias instead.
    """

    @wraps(offered.run)
    def run(*call: Any, **arguments: Any) -> Answer:
        try:
            return offered.run(*call, **arguments)
        except OpencodeMemoryError as error:
            for other, known in _ALIASES.items():
                error.hint = error.hint and error.hint.replace(known.name, other)
            raise

    return replace(offered, name=name, run=run, answers=None)


@tool(name="memory-kv-set", repeats=True)
def kv_set(
    call: SessionCall,
    key: Key,
    value: Annotated[Any, Field(description="any JSON")],
    ttlMs: Annotated[float | None, Field(gt=0, le=1e13, description="default 7 days")] = None,  # noqa: N803  its name
) -> Answer:
    """Keep a value of this project for a while."""
    return kv.kv_set.run(call, key, value, ttl_seconds=None if ttlMs is None else ttlMs / 1000)


TOOLS: Final[tuple[Tool, ...]] = (kv_set, *(alias(known, name) for name, known in _ALIASES.items()))
