"""``serve --stdio`` beside a resident server: passes the lines of its MCP client to that server and back.

So the process loads neither the model nor the store. If the resident server ends, its unanswered calls get an error,
and the next link takes over: another resident server, or a local server in a child process. It gets the handshake of
the client again, so the client notices nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from opencode_memory.resident.client import MOVED

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from websockets.sync.client import ClientConnection

LONGEST_LINE: Final = 32 * 1024 * 1024
"""Bytes of a line that a resident server takes."""
_INTERNAL_ERROR: Final = -32603
_TOO_LARGE: Final = -32600
_DRAIN_SECONDS: Final = 10.0
_CANCELLED: Final = "notifications/cancelled"
_log: Final = logging.getLogger(__name__)
_LOST: Final = (
    "the memory server ended before it answered, so it is unknown whether the call was carried out; call again"
)


class LinkLostError(Exception):
    """The other end of a link is gone."""


class Link(Protocol):
    """A connection to a server."""

    def send(self, line: bytes) -> None:
        """Send one message.

        Raises:
            LinkLostError: The server is gone.
        """

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages of the server until it is gone."""

    def close(self) -> None:
        """Tell the server that the client is gone."""

    @property
    def is_replaced(self) -> bool:
        """Whether the server ended because a newer one replaces it, and had answered every message that it read."""


class ResidentLink:
    """A connection to a resident server.

    Args:
        socket: The connection, after the server has agreed.
        opened: Closes the connection.
    """

    def __init__(self, socket: ClientConnection, opened: ExitStack) -> None:
        self._socket = socket
        self._opened = opened
        self.is_replaced = False

    def send(self, line: bytes) -> None:
        """Send one message."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  only with a resident server

        try:
            self._socket.send(line, text=True)
        except ConnectionClosed as error:
            raise LinkLostError from error

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages of the server."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  only with a resident server

        while True:
            try:
                yield self._socket.recv(decode=False)
            except ConnectionClosed as closed:
                self.is_replaced = closed.rcvd is not None and closed.rcvd.code == MOVED
                return

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()


class ChildLink:
    """A local server in a child process, which ends when this process ends.

    Args:
        command: Starts it.
        environment: Its environment.
        folder: Its working directory.
    """

    is_replaced = False

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self._child = subprocess.Popen(  # noqa: S603  this very program
            command, env=dict(environment), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def send(self, line: bytes) -> None:
        """Send one message."""
        try:
            self._input.write(line + b"\n")
            self._input.flush()
        except OSError as error:
            raise LinkLostError from error

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages of the server."""
        assert self._child.stdout is not None  # noqa: S101  it was requested
        for line in self._child.stdout:
            yield line.rstrip(b"\n")

    def close(self) -> None:
        """Close the input of the child, and wait for its end."""
        self._input.close()
        self._child.wait()

    def wait(self) -> int:
        """Wait for the end of the child, and return its exit code."""
        return self._child.wait()

    @property
    def _input(self) -> IO[bytes]:
        assert self._child.stdin is not None  # noqa: S101  it was requested
        return self._child.stdin


class Relay:
    """Passes messages between a client and the current link.

    Args:
        link: The first link.
        replace: Opens the next link after one was lost; never None.
        output: Where the client reads.
    """

    def __init__(self, link: Link, replace: Callable[[], Link], output: IO[bytes]) -> None:
        self._link = link
        self._replace = replace
        self._output = output
        self._changed = threading.Condition(threading.RLock())
        self._writing = threading.Lock()
        self._pending: dict[Any, bytes] = {}
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._is_ending = False

    def run(self, source: IO[bytes]) -> None:
        """Relay until the client closes its end."""
        reader = threading.Thread(target=self._read, name="opencode-memory-relay", daemon=True)
        reader.start()
        for line in source:
            if line.strip():
                self._pass_on(line.strip())
        with self._changed:
            self._changed.wait_for(lambda: not self._pending, timeout=_DRAIN_SECONDS)
            self._is_ending = True
            link = self._link
        link.close()

    def _pass_on(self, line: bytes) -> None:
        message = _parse(line)
        method, id_ = message.get("method"), _id_of(message)
        if len(line) > LONGEST_LINE:
            self._refuse(id_, _TOO_LARGE, f"the message has {len(line):,} bytes; at most {LONGEST_LINE:,} are allowed")
            return
        with self._changed:
            if method == "initialize":
                self._initialize = line
            elif method == "notifications/initialized":
                self._initialized = line
            elif method == _CANCELLED:
                self._settle_cancelled(message)
            if method is not None and id_ is not None:
                self._pending[id_] = line
            link = self._link
        try:
            link.send(line)
        except LinkLostError:
            return  # The reading thread notices as well, and answers what is pending.

    def _read(self) -> None:
        try:
            self._pass_back()
        except Exception:  # noqa: BLE001  an upgrade, for example, has removed the program of a local server
            # Without this thread, the client would wait for its answers for ever. So let it see the end.
            _log.exception("no server takes over, so the process ends")
            os._exit(1)

    def _pass_back(self) -> None:
        while True:
            for line in self._link:
                message = _parse(line)
                if "method" not in message:
                    self._settle(_id_of(message))
                self._write(line)
            with self._changed:
                if self._is_ending:
                    return
                if isinstance(self._link, ChildLink):
                    # A local server that ends would end again. Its client sees what it sees of any local server.
                    os._exit(self._link.wait())
                self._take_over()

    def _take_over(self) -> None:
        """Open the next link, and repeat the handshake there.

        The calls that the lost link took along get an error, unless its server never read them. Those are repeated.
        """
        unanswered = dict(self._pending)
        is_unread = self._link.is_replaced
        greeting = _id_of(_parse(self._initialize)) if self._initialize is not None else None
        greets = greeting is not None and greeting in self._pending
        self._link = self._replace()
        try:
            if self._initialize is not None:
                self._link.send(self._initialize)
                answer = next((line for line in self._link if _id_of(_parse(line)) == greeting), None)
                if greets and answer is not None:
                    self._settle(greeting)
                    self._write(answer)
            if self._initialized is not None:
                self._link.send(self._initialized)
            for id_, line in unanswered.items():
                if is_unread and id_ != greeting:
                    self._link.send(line)
        except LinkLostError:
            pass  # The reading loop finds the end of this link, too, and opens another one.
        for id_ in unanswered:
            if not is_unread and id_ != greeting:
                self._settle(id_)
                self._refuse(id_, _INTERNAL_ERROR, _LOST)

    def _settle(self, id_: Any) -> None:
        with self._changed:
            self._pending.pop(id_, None)
            self._changed.notify_all()

    def _settle_cancelled(self, message: Mapping[str, Any]) -> None:
        """Wait no longer for a call that the server does not answer any more. The server takes "7" for the call 7."""
        params = message.get("params")
        cancelled = _id_of({"id": params.get("requestId")}) if isinstance(params, dict) else None
        for id_ in [id_ for id_ in self._pending if cancelled is not None and str(id_) == str(cancelled)]:
            self._settle(id_)

    def _refuse(self, id_: Any, code: int, text: str) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}).encode())

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._output.write(line.rstrip(b"\n") + b"\n")
                self._output.flush()
            except OSError:
                os._exit(0)  # The client is gone. Its acknowledged writes are durable.


def relay_standard_streams(link: Link, replace: Callable[[], Link]) -> None:
    """Relay standard input and output until the client closes its end, or until SIGTERM or SIGINT."""
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda _number, _frame: os._exit(0))
    Relay(link, replace, sys.stdout.buffer).run(sys.stdin.buffer)


def _parse(line: bytes) -> dict[str, Any]:
    """Parse a message; an empty object for anything else, which the server refuses."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _id_of(message: Mapping[str, Any]) -> str | int | None:
    id_ = message.get("id")
    return id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None
