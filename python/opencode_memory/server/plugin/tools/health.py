"""The seed's tool for the state of the memory."""

from __future__ import annotations

from typing import Literal

from opencode_memory.server.answers import Answer
from opencode_memory.server.call import SessionCall
from opencode_memory.server.toolbox import tool
from opencode_memory.server.tools import status
from opencode_memory.text.formatting import counted


@tool(name="memory-health", repeats=True)
def memory_health(call: SessionCall, action: Literal["check", "reindex"] = "check") -> Answer:
    """Whether the memory is healthy and what waits; reindex builds its indexes anew."""
    if action == "check":
        return status.memory_status.run(call)
    report = call.store.indexes.reindex()
    return Answer(
        f"Embedded {report.embedded}; indexed {counted(report.texts, 'text')}, {counted(report.vectors, 'vector')}.",
        {"embedded": report.embedded, "texts": report.texts, "vectors": report.vectors},
    )
