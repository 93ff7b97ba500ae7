"""OpenCode that the server starts for loops if the user has none open.

One process of ``opencode serve`` serves the loops of all projects. It has a password, listens on the loopback
interface, and connects by its plugin as every other OpenCode does. It outlives a server that dies: the next one finds
its record, and ends it when no loop needs it any more.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import os
import secrets
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import anyio
import anyio.to_thread

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.files.atomic import write_atomically
from opencode_memory.loops.process import is_alive, process_start
from opencode_memory.platform.system import AS_BYTES, NOT_INHERITED, PRIVATE_FILE
from opencode_memory.text.json_values import to_json

RECORD_FILE: Final = "opencode-of-loops.json"
LOG_FILE: Final = "opencode-of-loops.log"
USER: Final = "opencode"
PASSWORD_VARIABLE: Final = "OPENCODE_SERVER_PASSWORD"  # noqa: S105  a name
_HOST: Final = "127.0.0.1"
_DROPPED: Final = ("OPENCODE_SERVER_", "OPENCODE_CLIENT", "OPENCODE_PID", "OPENCODE_RUN_ID")
"""Starts of variables that an OpenCode sets for its own children, such as a server that its plugin has started."""
_MOST_STARTS: Final = 2
_START_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 3.0
"""Time for one answer. A request that comes while OpenCode starts may get none, so it is sent again."""
_END_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1
_MOST_LOG_BYTES: Final = 5_000_000
_OK: Final = 200
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHostRecord:
    """A started process.

    Attributes:
        pid: Its process id.
        started: Its start time, in clock ticks.
        port: Its port.
        password: Its password.
    """

    pid: int
    started: int | None
    port: int
    password: str

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return is_alive(self.pid, self.started)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{_HOST}:{self.port}"


def read_record(data_dir: Path) -> OwnHostRecord | None:
    """Return the running process that a server of this store has started; None if there is none."""
    try:
        record = OwnHostRecord(**json.loads((data_dir / RECORD_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return record if record.is_alive else None


class OwnHost:
    """The OpenCode of one server.

    Args:
        data_dir: Folder of the store; the record and the log are there.
        environment: Environment of the server.
    """

    def __init__(self, data_dir: Path, environment: Mapping[str, str]) -> None:
        self._data_dir = data_dir
        self._environment = environment
        self._child: subprocess.Popen[bytes] | None = None
        self._started: OwnHostRecord | None = None

    @property
    def pid(self) -> int | None:
        """Process id of OpenCode; None if it does not run."""
        record = self._find()
        return None if record is None else record.pid

    async def open(self, program: str, folder: str) -> None:
        """Start OpenCode unless it runs, and open a folder in it, so that its plugin connects from there.

        Raises:
            OpencodeMemoryError: It does not start or does not answer; the message says why.
        """
        for _ in range(_MOST_STARTS):
            record = await anyio.to_thread.run_sync(self._find_or_start, program)
            until = time.monotonic() + _START_SECONDS
            while time.monotonic() < until and self._find() is not None:
                if await anyio.to_thread.run_sync(_opens, record, folder):
                    return
                await anyio.sleep(_PAUSE_SECONDS)
        raise OpencodeMemoryError(f"the OpenCode for loops does not answer; its log is {self._data_dir / LOG_FILE}")

    async def end(self) -> None:
        """End OpenCode if it runs. Its sessions stay."""
        await anyio.to_thread.run_sync(self._end)

    def _end(self) -> None:
        record = self._find()
        if record is not None:
            _log.info("no loop needs OpenCode now, so process %d is ended", record.pid)
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.kill(record.pid, sign)
                if self._has_ended(record):
                    break
        (self._data_dir / RECORD_FILE).unlink(missing_ok=True)

    def _has_ended(self, record: OwnHostRecord) -> bool:
        """Wait some seconds for the end of OpenCode; return whether it has ended."""
        if self._child is not None and self._child.pid == record.pid:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_END_SECONDS)
            return self._child.returncode is not None
        try:
            process = os.pidfd_open(record.pid)
        except ProcessLookupError:
            return True
        with closing(os.fdopen(process)):
            return bool(select.select([process], [], [], _END_SECONDS)[0])

    def _find(self) -> OwnHostRecord | None:
        """Return the running process; None if there is none."""
        if self._child is not None and self._started is not None:
            # A child that has ended stays in the table of processes until it is asked.
            return self._started if self._child.poll() is None else None
        return read_record(self._data_dir)

    def _find_or_start(self, program: str) -> OwnHostRecord:
        found = self._find()
        if found is not None:
            return found
        password, port = secrets.token_urlsafe(24), _free_port()
        environment = {name: text for name, text in self._environment.items() if not name.startswith(_DROPPED)}
        log = self._data_dir / LOG_FILE
        with suppress(FileNotFoundError):
            if log.stat().st_size > _MOST_LOG_BYTES:
                log.unlink()
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOT_INHERITED | AS_BYTES, PRIVATE_FILE)
            with closing(os.fdopen(descriptor, "ab")) as out:
                # The home folder, because the folder in which it starts would otherwise become a project.
                self._child = subprocess.Popen(  # noqa: S603  the program that the user has named by `loop start`
                    [program, "serve", "--hostname", _HOST, "--port", str(port)],
                    cwd=Path.home(),
                    env={**environment, PASSWORD_VARIABLE: password},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
        except OSError as error:
            raise OpencodeMemoryError(f"OpenCode cannot be started for loops: {program}: {error.strerror}") from error
        pid = self._child.pid
        self._started = record = OwnHostRecord(pid=pid, started=process_start(pid), port=port, password=password)
        write_atomically(self._data_dir / RECORD_FILE, json.dumps(to_json(record)).encode())
        _log.info("started OpenCode for loops: process %d, %s", pid, record.url)
        return record


def _opens(record: OwnHostRecord, folder: str) -> bool:
    """Ask OpenCode for a folder, which loads its plugins there. Return whether it answered."""
    credentials = base64.b64encode(f"{USER}:{record.password}".encode()).decode()
    path = "/path?" + urlencode({"directory": folder})
    try:
        with closing(http.client.HTTPConnection(_HOST, record.port, timeout=_ANSWER_SECONDS)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Basic {credentials}"})
            return connection.getresponse().status == _OK
    except (OSError, http.client.HTTPException):
        return False


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind((_HOST, 0))
        port: int = found.getsockname()[1]
        return port
