"""Takes over the port and the sessions of an older server of the same store, so that its clients lose no call."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opencode_memory.config.load import Config
from opencode_memory.hosts.opencode.token_file import token_file
from opencode_memory.resident.client import ACCEPTED_STATUS, HANDOVER_PATH, post
from opencode_memory.server.stop import RunningServer, hold_process, wait_for_end

_PATIENCE_SECONDS: Final = 15.0
"""Time for the older server to answer what it has read."""
_PIECE: Final = 1 << 16
_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What a server inherits from the one that it replaces: open files, which a child process can get.

    Attributes:
        listening: The socket, which listens at the address of the server.
        sessions: A file with the sessions of MCP clients, as JSON.
    """

    listening: int
    sessions: int

    @classmethod
    def parse(cls, text: str) -> Inherited:
        """Parse the text that ``str`` returns.

        Raises:
            ValueError: The text has another form.
        """
        listening, sessions = map(int, text.split(","))
        return cls(listening=listening, sessions=sessions)

    def __str__(self) -> str:
        """Return the numbers of the open files."""
        return f"{self.listening},{self.sessions}"

    @property
    def descriptors(self) -> tuple[int, int]:
        """The open files."""
        return self.listening, self.sessions

    def close(self) -> None:
        """Close the files in this process."""
        for descriptor in self.descriptors:
            os.close(descriptor)

    def open(self) -> tuple[socket.socket, dict[str, Any]]:
        """Return the socket and the sessions. The files belong to the caller from now on.

        Raises:
            OSError: A number is not that of an open file.
        """
        for descriptor in self.descriptors:
            os.set_inheritable(descriptor, False)
        with os.fdopen(self.sessions, "rb") as file:
            file.seek(0)
            sessions = json.loads(file.read())
        listening = socket.socket(fileno=self.listening)
        listening.setblocking(False)
        return listening, sessions


def take_over(config: Config, server: RunningServer) -> Inherited | None:
    """Take over from a server, and return when its process has ended.

    Args:
        config: The configuration with the store.
        server: The result of ``find_running_server``.

    Returns:
        None if the server cannot be taken over; it still runs then, or it is ending.

    Raises:
        ConflictError: Meanwhile another server took its place.
    """
    if sys.platform == "win32":
        return None
    with hold_process(config, server) as handle, ExitStack() as opened:
        # The path of a UNIX socket must be short, and only this user may connect.
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="ocm-", ignore_cleanup_errors=True))
        path = str(Path(folder, "s"))
        waiting = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            waiting.bind(path)
            waiting.listen(1)
            waiting.settimeout(_PATIENCE_SECONDS)
            token = token_file(config.data_dir).read_text(encoding="ascii").strip()
            body = json.dumps({"socket": path}).encode()
            answer = post(server.host, server.port, HANDOVER_PATH, body, token=token)
            if answer is None or answer.status != ACCEPTED_STATUS:
                return None
            giver = opened.enter_context(waiting.accept()[0])
            giver.settimeout(_PATIENCE_SECONDS)
            inherited = _receive(giver)
        except (OSError, ValueError):
            return None
        if inherited is not None and not wait_for_end(server.pid, handle, _PATIENCE_SECONDS):
            inherited.close()
            return None
        return inherited


def _receive(giver: socket.socket) -> Inherited | None:
    first, descriptors, _, _ = socket.recv_fds(giver, 1, 1)
    if not first or len(descriptors) != 1:
        return None
    document = bytearray()
    try:
        while len(document) <= _MOST_BYTES and (piece := giver.recv(_PIECE)):
            document += piece
        json.loads(document)
        with tempfile.TemporaryFile() as file:
            file.write(document)
            file.flush()
            sessions = os.dup(file.fileno())
    except (OSError, ValueError):
        os.close(descriptors[0])
        raise
    return Inherited(listening=descriptors[0], sessions=sessions)
