"""The tools that OpenCode gets from the plugin, under the names of the seed; ``TOOLS`` is what it offers.

They do what the tools of MCP do, and say so in words that name no tool of MCP. What an agent writes through them is its
own (trust ``agent``), and knows the session and the message it comes from.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.server.plugin.tools import aliases, findings, memories
from opencode_memory.server.toolbox import Tool

TOOLS: Final[tuple[Tool, ...]] = (
    memories.memory_read,
    memories.memory_write,
    memories.memory_edit,
    memories.memory_delete,
    memories.memory_health,
    *aliases.TOOLS,
    findings.memory_findings,
)
