"""Names and numbers that the plugin, the server and the setup have to agree on."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = 1
"""Version of the messages between the plugin and the server; they talk only if both have the same."""
TOKEN_FILE: Final = "server.token"  # noqa: S105  a name, not the token
"""File in the data directory with the key that the plugin shows to the server."""
MCP_NAME: Final = "memory"
"""Name of the MCP server in OpenCode's configuration."""
