"""Finds the links of ``serve --stdio``: a resident server that serves its client, or a local server as a child."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.resident.client import STDIO_PATH, describe, open_connection
from opencode_memory.text.addresses import format_address

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_memory.config.load import Config
    from opencode_memory.resident.relay import Link, ResidentLink

ACCEPTED: Final = '{"accepted": true}'
"""The answer of a server that serves the client."""
_OPEN_SECONDS: Final = 2.0
_ACCEPT_SECONDS: Final = 10.0
"""A server that never served such a client loads the protocol first."""


def describe_server(config: Config) -> dict[str, Any]:
    """Return the settings of the server itself that a process and a resident server must have in common."""
    return {"tools": config.server.tools.value, "cross_project": config.server.cross_project}


def find_resident(config: Config, version: str, token_file: Path, folder: Path) -> ResidentLink | None:
    """Connect to a resident server that serves the client of this process.

    Args:
        config: The configuration of this process.
        version: The version of this program.
        token_file: The file with the token of the store.
        folder: The folder of the client.

    Returns:
        None if no server of the same user, version, store and settings answers.
    """
    if not config.server.delegate or not config.server.port:
        return None
    try:
        token = token_file.read_text(encoding="ascii").strip()
        connection = open_connection(config.server.host, config.server.port)
    except (OSError, ValueError):
        return None
    if connection is None:
        return None
    from websockets.exceptions import WebSocketException  # noqa: PLC0415  only with a resident server
    from websockets.sync.client import connect  # noqa: PLC0415  only with a resident server

    from opencode_memory.resident.relay import ResidentLink  # noqa: PLC0415  only with a resident server

    greeting = describe(config, version) | describe_server(config) | {"folder": str(folder)}
    with ExitStack() as opened, suppress(OSError, WebSocketException):
        opened.callback(connection.close)
        connecting = connect(
            f"ws://{format_address(config.server.host, config.server.port)}{STDIO_PATH}",
            sock=connection,
            additional_headers={"Authorization": f"Bearer {token}"},
            compression=None,
            max_size=None,
            open_timeout=_OPEN_SECONDS,
            # The loopback interface reports the end of a server, so an idle process need not wake for pings.
            ping_interval=None,
            proxy=None,
        )
        socket = opened.enter_context(connecting)
        socket.send(json.dumps(greeting))
        if socket.recv(timeout=_ACCEPT_SECONDS) == ACCEPTED:
            return ResidentLink(socket, opened.pop_all())
    return None


def start_child(config: Config, folder: Path) -> Link:
    """Start a local server in a child process, which does not look for a resident one."""
    from opencode_memory.resident.relay import ChildLink  # noqa: PLC0415  only after a resident server has ended

    command = [
        sys.executable, "-m", "opencode_memory.cli", "serve", "--stdio",
        "--data-dir", str(config.data_dir), "--tools", config.server.tools.value,
    ]  # fmt: skip
    return ChildLink(command, {**config.environment, "OPENCODE_MEMORY_SERVER_DELEGATE": "false"}, folder)
