"""A connection of the plugin as the host of loops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from opencode_memory.loops.host import HostError, HostGoneError, HostNotFoundError
from opencode_memory.loops.process import process_start
from opencode_memory.server.plugin.json_rpc import DisconnectedError, RemoteError
from opencode_memory.server.plugin.opencode_client import NotThereError, OpenCode


class LoopHost:
    """A connected process of OpenCode.

    Args:
        opencode: Its client.
        folder: Folder of the connection.
        pid: Its process id.
    """

    def __init__(self, opencode: OpenCode, folder: Path, pid: int) -> None:
        self._opencode = opencode
        self.folder = folder
        self.pid = pid
        self.started = process_start(pid)
        self._closed = anyio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether the connection holds."""
        return not self._closed.is_set()

    def close(self) -> None:
        """Note that the connection has ended."""
        self._closed.set()

    async def wait_closed(self) -> None:
        """Wait until the connection has ended."""
        await self._closed.wait()

    async def request(
        self,
        method: str,
        path: str,
        *,
        directory: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = 10.0,
    ) -> Any:
        """Call a route of OpenCode's API for a folder; see ``Host.request``."""
        asked = {"directory": directory, **(query or {})}
        try:
            return await self._opencode.request(method, path, query=asked, body=body, seconds=seconds)
        except NotThereError as error:
            raise HostNotFoundError(str(error)) from error
        except DisconnectedError as error:
            raise HostGoneError(str(error)) from error
        except RemoteError as error:
            raise HostError(str(error)) from error
