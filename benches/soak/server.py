"""A resident server with its worker that a test starts, kills and starts again on the same store."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from .sampling import find_child

_START_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.05
_ANSWERED: Final = 200


class KilledServer:
    """A server on a free port, below a home of its own.

    Args:
        home: Home of the server; the store is in ``home / "store"``.
        settings: Further environment variables.
    """

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.data_dir = home / "store"
        self._home = home
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Process id of the server."""
        assert self._process is not None
        return self._process.pid

    @property
    def worker(self) -> int | None:
        """Process id of the worker; None while it is not running."""
        return find_child(self.pid)

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start the server and wait until it answers."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "OPENCODE_MEMORY_DATA_DIR": str(self.data_dir),
            "OPENCODE_MEMORY_RATE_LIMIT": "0",
            **self._settings,
            **(settings or {}),
        }
        command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--port", str(self.port)]
        with (self._home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start; see {self._home / 'server.log'}")
            time.sleep(_PAUSE_SECONDS)

    def kill(self) -> None:
        """Kill the server with SIGKILL. Its worker ends, because its input ends."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def kill_worker(self) -> None:
        """Kill the worker with SIGKILL; the server starts another one."""
        worker = self.worker
        if worker is not None:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == _ANSWERED
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
