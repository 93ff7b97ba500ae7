"""Tools that OpenCode gets from the plugin (``TOOLS``), under the names of the opencode-memory-manager plugin.

They do the same as the MCP tools, but their answers name no MCP tool. Memories written through them have the trust
``agent`` and record their session and message.
"""

from __future__ import annotations

from typing import Final

from opencode_memory.server.plugin.tools import aliases, findings, loops, memories, plans
from opencode_memory.server.toolbox import Tool

TOOLS: Final[tuple[Tool, ...]] = (
    memories.memory_read,
    memories.memory_write,
    memories.memory_edit,
    memories.memory_delete,
    memories.memory_health,
    *aliases.TOOLS,
    findings.memory_findings,
    plans.memory_plan,
    plans.memory_plan_execute,
    loops.memory_loop,
    loops.memory_loop_status,
    loops.memory_loop_cancel,
    loops.memory_loop_report,
)
