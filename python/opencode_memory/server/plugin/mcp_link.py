"""Connects OpenCode to our MCP server if the server came up after OpenCode, and only between two turns.

OpenCode reads the list of tools before each request of a turn, and the instructions of MCP servers a little later. A
server that connects in the middle of a turn changes the system prompt and the tools, and the provider's cache is lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from opencode_memory.hosts.opencode.contract import MCP_NAME
from opencode_memory.server.plugin.json_rpc import RemoteError

if TYPE_CHECKING:
    from opencode_memory.server.plugin.opencode_client import OpenCode

_QUESTION_SECONDS: Final = 0.3
_CONNECT_SECONDS: Final = 1.5
_BEGIN_SECONDS: Final = 3.0
_log: Final = logging.getLogger(__name__)


class McpLink:
    """The connection of one instance of OpenCode to our MCP server.

    Args:
        opencode: The instance.
        clock: Returns the seconds of a monotonic clock.
    """

    def __init__(self, opencode: OpenCode, clock: Callable[[], float] = time.monotonic) -> None:
        self._opencode = opencode
        self._clock = clock
        self._began: dict[str, float] = {}
        self._lock = anyio.Lock()

    async def begin_turn(self, session: str, *, left_out: bool) -> bool:
        """Connect the server if it is missing and no session is at work. Call this before a turn begins.

        Args:
            session: The session whose turn begins.
            left_out: Whether the plugin disabled the server at OpenCode's start. A server that the user disabled stays
                disabled.

        Returns:
            Whether the connection needs no further attention.
        """
        async with self._lock:
            try:
                status = await self._opencode.find_mcp_status(MCP_NAME, seconds=_QUESTION_SECONDS)
                if status != "failed" and not (left_out and status == "disabled"):
                    return True
                if self._others_begin(session) or await self._opencode.find_active(seconds=_QUESTION_SECONDS):
                    return False
                await self._opencode.connect_mcp(MCP_NAME, seconds=_CONNECT_SECONDS)
            except RemoteError as error:
                _log.info("OpenCode is not connected to the MCP server yet: %s", error)
                return False
        return True

    def _others_begin(self, session: str) -> bool:
        """Note that a turn of the session begins; return whether one of another session has just begun.

        OpenCode does not report a session as active yet while it takes up a message.
        """
        now = self._clock()
        self._began = {other: at for other, at in self._began.items() if now - at < _BEGIN_SECONDS}
        others = self._began.keys() - {session}
        self._began[session] = now
        return bool(others)
