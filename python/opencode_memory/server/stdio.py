"""MCP over standard input and output: a server that one client starts for itself in its working directory.

SIGTERM and SIGINT end the process immediately. Acknowledged writes are durable, and the next process that opens the
store embeds memories without vectors. So no work is lost. A clean shutdown would not be possible anyway, because a
thread that is blocked reading standard input cannot be interrupted.
"""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from opencode_memory.server.app import build_server
from opencode_memory.server.tool_calls import ToolCalls

if TYPE_CHECKING:
    from opencode_memory.server.server_state import ServerState


def serve_stdio(state: ServerState, *, folder: Path) -> None:
    """Serve one client until it closes standard input, or until SIGTERM or SIGINT.

    Args:
        state: The state of the server.
        folder: The client's folder, unless the client names others.
    """
    server = build_server(ToolCalls(state, folder=folder))

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_end_on_signal)
            async with stdio_server() as (reads, writes):
                await server.run(reads, writes, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(serve)


async def _end_on_signal() -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            logging.shutdown()
            os._exit(0)
