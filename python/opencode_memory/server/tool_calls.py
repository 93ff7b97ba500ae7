"""Tools of one server, and their calls.

Tools are plain functions that block. They run on threads, so they never block the event loop. A call that has started
is finished even if the client gives up, so no write is left half done.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from opencode_memory.config.sections import Tools
from opencode_memory.server.call import Call
from opencode_memory.server.client_project import ClientProjects
from opencode_memory.server.server_state import ServerState
from opencode_memory.server.toolbox import Tool, ToolOutcome, run
from opencode_memory.server.tools import TOOLS
from opencode_memory.text import clock

THREADS: Final = 16
"""Calls that run at the same time; further calls wait in a queue."""
_BOOT: Final = "get_boot_context"


class ToolCalls:
    """The tools that a server offers, and the way to call them.

    Args:
        state: The store, the configuration and the metrics.
        folder: The server's working directory if it serves a single client; None for a resident server.
        plugged: Whether the client is an OpenCode with the plugin. It gets the core tools, and no tool for the boot
            context, because the plugin adds that context to the messages.
    """

    def __init__(self, state: ServerState, *, folder: Path | None = None, plugged: bool = False) -> None:
        self.has_injection = plugged and state.config.injection.enabled
        which = Tools.CORE if plugged else state.config.server.tools
        self.tools = {
            tool.name: tool for tool in select_tools(which) if not (self.has_injection and tool.name == _BOOT)
        }
        self.projects = ClientProjects(state, folder)
        self._state = state
        self._limiter = anyio.CapacityLimiter(THREADS)

    async def run(self, tool: Tool, arguments: Mapping[str, Any], folders: tuple[Path, ...]) -> ToolOutcome:
        """Run a tool on a thread for a client that works in ``folders``. Never raises."""
        return await anyio.to_thread.run_sync(self._run, tool, arguments, folders, limiter=self._limiter)

    def _run(self, tool: Tool, arguments: Mapping[str, Any], folders: tuple[Path, ...]) -> ToolOutcome:
        return run(
            self._state,
            lambda: Call(self._state, self.projects.scope(folders), clock.now()),
            tool,
            arguments,
            refresh_project=lambda: self.projects.refresh(folders),
        )


def select_tools(which: Tools) -> tuple[Tool, ...]:
    """Return the tools that a server offers."""
    return tuple(tool for tool in TOOLS if tool.core or which is Tools.ALL)
