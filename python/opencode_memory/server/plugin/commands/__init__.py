"""Execution of the slash commands of OpenCode, whose definitions are in ``hosts.opencode.slash_commands``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opencode_memory.hosts.opencode.slash_commands import COMMANDS

if TYPE_CHECKING:
    from opencode_memory.server.call import SessionCall
    from opencode_memory.server.plugin.commands.answer import CommandAnswer


def run_command(call: SessionCall, name: str, arguments: str) -> CommandAnswer | None:
    """Run a slash command that the user typed.

    Args:
        call: The session in which the user typed it.
        name: The command, without its slash.
        arguments: The text after the command, as the user typed it.

    Returns:
        The answer, whose text replaces the template's text; None if the command is not ours.
    """
    if name not in COMMANDS:
        return None
    from opencode_memory.server.plugin.commands.run import execute  # noqa: PLC0415  most sessions run no command

    return execute(replace(call, is_typed=True), name, arguments)
