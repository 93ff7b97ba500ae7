"""Tool calls and commands of an OpenCode session, as the bridge makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencode_memory.server.answers import Answer
from opencode_memory.server.call import SessionCall
from opencode_memory.server.client_project import ClientProjects
from opencode_memory.server.plugin.commands import run_command
from opencode_memory.server.plugin.tools import TOOLS
from opencode_memory.text import clock
from support.mcp import World

_BY_NAME = {tool.name: tool for tool in TOOLS}


class Session:
    """An OpenCode session in a folder."""

    def __init__(self, world: World, folder: Path | None, id: str = "ses_1") -> None:
        self._world = world
        self._folders = () if folder is None else (folder,)
        self._id = id

    @property
    def call(self) -> SessionCall:
        """The current context of a tool call or command."""
        client = ClientProjects(self._world.state, None).scope(self._folders)
        return SessionCall(self._world.state, client, clock.now(), session=self._id, message="msg_1", agent="build")

    def tool(self, name: str, /, **arguments: Any) -> Answer:
        """Call a tool with arguments as a model writes them."""
        tool = _BY_NAME[name]
        return tool.run(self.call, **tool.check(arguments))

    def text(self, name: str, /, **arguments: Any) -> str:
        """Call a tool and return its text."""
        return self.tool(name, **arguments).text

    def command(self, command: str, arguments: str = "") -> str:
        """Run a slash command, and return the text for the model."""
        answer = run_command(self.call, command, arguments)
        assert answer is not None
        return answer.text
