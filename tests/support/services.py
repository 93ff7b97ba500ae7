"""Test doubles of the supervisor of services and of HTTP servers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from opencode_memory.service.manager import Command, CommandResult

NO_BUS = CommandResult(1, "Failed to connect to bus: No medium found")
HEALTH = {"server": "opencode-memory", "version": "0.1.0", "pid": 1}


class Commands:
    """Runner that records commands instead of running them.

    An answer applies to the commands that begin with its words; the first match is returned. Other commands succeed.
    """

    def __init__(self, answers: Mapping[str, CommandResult | list[CommandResult]] | None = None) -> None:
        self.ran: list[str] = []
        self._answers = dict(answers or {})

    def __call__(self, command: Command) -> CommandResult:
        line = " ".join(command)
        self.ran.append(line)
        for beginning, answer in self._answers.items():
            if line.startswith(beginning):
                return answer if isinstance(answer, CommandResult) else answer.pop(0)
        return CommandResult(0, "")

    @property
    def changes(self) -> list[str]:
        """The recorded commands, without queries of the state."""
        return [line for line in self.ran if " show " not in line and " print " not in line]


@contextmanager
def health_server(document: Any, *, status: int = 200) -> Iterator[int]:
    """Answer every request with a document, as JSON unless it is bytes, on a free port of 127.0.0.1."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    """Return a free port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
