"""MCP over standard input and output: a server that one client starts for itself, in the folder it works in.

It answers ``initialize`` before the store is opened, for clients wait for that; the store is opened by the first call.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from opencode_memory.server.app import build_server

if TYPE_CHECKING:
    from opencode_memory.server.state import State


def serve_stdio(state: State, *, folder: Path) -> None:
    """Serve one client until it closes its end, or SIGTERM or SIGINT comes.

    Args:
        state: The store, the configuration, and what is counted.
        folder: Where the client works, unless it says otherwise.
    """
    server = build_server(state, folder=folder)

    async def serve() -> None:
        async with stopped_by_signal() as stop, stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())
            stop()

    anyio.run(serve)


@asynccontextmanager
async def stopped_by_signal() -> AsyncIterator[Callable[[], None]]:
    """Cancel what runs inside when SIGTERM or SIGINT comes; yields what ends the waiting for them."""
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    group.cancel_scope.cancel()
                    return

        group.start_soon(wait)
        yield group.cancel_scope.cancel
