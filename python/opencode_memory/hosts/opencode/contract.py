"""Constants shared by the plugin, the server and the setup."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = 1
"""Version of the messages between the plugin and the server; the server refuses a plugin with another version."""
TOKEN_FILE: Final = "server.token"  # noqa: S105  a name, not the token
"""File in the data directory with the token that the plugin sends to the server."""
MCP_NAME: Final = "memory"
"""Name of the MCP server in OpenCode's configuration."""
DIGEST_AGENT: Final = "opencode-memory-digest"
"""Name of the hidden agent in OpenCode that digests sessions."""
OWN_TITLE: Final = "opencode-memory: "
"""Start of the titles of sessions that opencode-memory starts itself."""
