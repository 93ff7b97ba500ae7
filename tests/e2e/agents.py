"""The SDK's own client, talking to processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from e2e.served import command, environment
from support.mcp import HANDSHAKE, Agent


@contextmanager
def connected(server: str | StdioServerParameters, *, mode: str = HANDSHAKE, **options: Any) -> Iterator[Agent]:
    """Connect to a server by its address, or by the command that starts it."""
    with start_blocking_portal() as portal:
        entered = portal.wrap_async_context_manager(Client(server, mode=mode, **options))
        client = entered.__enter__()
        try:
            yield Agent(portal, client)
        finally:
            # Do not pass an exception of the test to the client, which would wrap it into exception groups.
            entered.__exit__(None, None, None)


def started_in(folder: Path, home: Path) -> StdioServerParameters:
    """Return the command that starts a server on standard input and output in a folder."""
    home.mkdir(exist_ok=True)
    program, *arguments = command("serve", "--stdio", "--data-dir", str(home / "store"))
    return StdioServerParameters(command=program, args=arguments, cwd=folder, env=environment(home))
