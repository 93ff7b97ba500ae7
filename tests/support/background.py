"""Resident servers in the background, in a home of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

from opencode_memory.config.load import Config
from opencode_memory.hosts.opencode.token_file import token_file
from opencode_memory.service.server_record import find_server

PATIENCE_SECONDS = 120
PIPES: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


class Background:
    """Runs commands in the home of a configuration, and in the end kills all servers that they started."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._children: list[subprocess.Popen[str]] = []
        self._servers: set[int] = set()

    def begin(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Begin a command, and return without waiting for its end."""
        command = [sys.executable, "-m", "opencode_memory.cli", *arguments]
        environment = {**self.config.environment, **variables}
        self._children.append(subprocess.Popen(command, env=environment, text=True, **PIPES))
        return self._children[-1]

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        """Run a command, and return its exit code and its output."""
        ended = end(self.begin(*arguments, **variables))
        self._note_server()
        return ended

    def start(self, *arguments: str, **variables: str) -> Any:
        """Start a server without a worker, and return the JSON of ``serve --detach``."""
        code, out, err = self.run("serve", "--detach", "--no-worker", "--json", *arguments, **variables)
        assert code == 0, err
        return json.loads(out)

    @property
    def credentials(self) -> dict[str, str]:
        """Headers of a plugin of the store."""
        return {"Authorization": f"Bearer {token_file(self.config.data_dir).read_text().strip()}"}

    def close(self) -> None:
        """End all processes."""
        for process in self._children:
            process.kill()
            process.communicate()
        self._note_server()
        for pid in self._servers:
            # A server leads a process session of its own, which includes its worker.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _note_server(self) -> None:
        if (server := find_server(self.config.data_dir)) is not None and server.detached:
            self._servers.add(server.pid)


def health_of(config: Config) -> Any:
    """Return the health of the server at the configured port; None if there is none."""
    connection = HTTPConnection("127.0.0.1", config.server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/health")
        return json.loads(connection.getresponse().read())
    except ConnectionError:
        return None
    finally:
        connection.close()


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a command, and return its exit code and its output."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err
