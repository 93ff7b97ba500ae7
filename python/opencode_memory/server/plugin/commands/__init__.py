"""The slash commands in OpenCode: what it is told of them, and what the server does when a person types one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencode_memory.hosts.opencode.slash_commands import COMMANDS

if TYPE_CHECKING:
    from opencode_memory.server.call import SessionCall

__all__ = ["COMMANDS", "run_command"]


def run_command(call: SessionCall, name: str, arguments: str) -> str | None:
    """Carry out what a person typed.

    Args:
        call: The session it was typed in.
        name: The command, without its slash.
        arguments: What was typed behind it, as it was typed.

    Returns:
        What takes the place of the template's text; None for a command that is not ours.
    """
    if name not in COMMANDS:
        return None
    from opencode_memory.server.plugin.commands.run import execute  # noqa: PLC0415  setup needs the names alone

    return execute(call, name, arguments)
