"""The MCP server, over stdio and HTTP."""

from __future__ import annotations

from typing import Final

NAME: Final = "opencode-memory"
"""Name of the server, for MCP clients and in ``/health``."""
LOG_FILE: Final = "server.log"
"""Name of the log of servers in the background. It is beside the store."""
