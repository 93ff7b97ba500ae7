"""Constants shared by the plugin, the server and the setup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeGuard

PROTOCOL: Final = 1
"""Version of the messages between the plugin and the server; the server refuses a plugin with another version."""
TOKEN_FILE: Final = "server.token"  # noqa: S105  a name, not the token
"""File in the data directory with the token that the plugin sends to the server."""
MCP_NAME: Final = "memory"
"""Name of the MCP server in OpenCode's configuration."""
DIGEST_AGENT: Final = "opencode-memory-digest"
"""Name of the hidden agent in OpenCode that digests sessions."""
AUDIT_AGENT: Final = "opencode-memory-auditor"
"""Name of the hidden agent in OpenCode that audits in loops."""
OWN_TITLE: Final = "opencode-memory: "
"""Start of the titles of sessions that opencode-memory starts itself."""
LOOP_TITLE: Final = "loop: "
"""Start of the titles of sessions in which loops work. A program writes their prompts, but they are learned from."""
LOOP_TOOLS: Final = ("memory-plan", "memory-loop")
"""Starts of the names of the tools for plans and loops."""
_LOOP_PARENT: Final = "loop"
_LONGEST_ID: Final = 200


def find_parent(title: str, parent: str | None) -> str | None:
    """Return the parent of a session; None if the user started it.

    In the session of a loop nothing is the user's word, as in the session of a subagent. So it counts as having a
    parent.
    """
    return _LOOP_PARENT if title.startswith(LOOP_TITLE) else parent or None


def find_undone(revert: object) -> str | None:
    """Return the id of the first message that the user has undone; None if none is undone.

    Args:
        revert: The member ``revert`` of a session. If it names a part, only the end of a message is undone, which no
            command of OpenCode does.
    """
    message = revert.get("messageID") if isinstance(revert, Mapping) and not revert.get("partID") else None
    return message if is_message_id(message) else None


def is_message_id(value: object) -> TypeGuard[str]:
    """Return whether a value can be the id of a message. The ids of undone messages are stored, so each is limited."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID
