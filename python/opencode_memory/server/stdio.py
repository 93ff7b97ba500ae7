"""MCP over standard input and output: a server that one client starts for itself, in the folder it works in.

SIGTERM and SIGINT end the process at once. What was acknowledged is durable, and what waits for its vectors is
embedded by whoever opens the store next, so there is nothing to wait for; nor could one, since a thread that reads
standard input cannot be called back.
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

if TYPE_CHECKING:
    from opencode_memory.server.server_state import ServerState


def serve_stdio(state: ServerState, *, folder: Path) -> None:
    """Serve one client until it closes its end, or SIGTERM or SIGINT ends the process.

    Args:
        state: The store, the configuration, and what is counted.
        folder: Where the client works, unless it says otherwise.
    """
    server = build_server(state, folder=folder)

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
