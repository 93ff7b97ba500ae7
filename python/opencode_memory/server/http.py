"""The resident server process: binds a port, decides who may connect, and serves HTTP until a signal ends it."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import uvicorn

from opencode_memory.errors import ConflictError, InvalidInputError, StorageError
from opencode_memory.hosts.opencode.token_file import create_token, token_file
from opencode_memory.server.guards import guarded_protocol, limited_protocol, supports_owner_check
from opencode_memory.server.plugin.endpoint import MESSAGE_LIMIT
from opencode_memory.server.web import WebApp, build_app
from opencode_memory.service.port_holder import explain_holder, find_port_holder, hint_for_holder

if TYPE_CHECKING:
    from opencode_memory.server.metrics import Metrics
    from opencode_memory.server.server_state import ServerState

_GRACE_SECONDS: Final = 1
"""Grace period after a signal: first for running calls to finish, then for streams to close."""
_BACKLOG: Final = 256
_log: Final = logging.getLogger(__name__)


def bind(host: str, port: int) -> socket.socket:
    """Bind a port and listen on it.

    Args:
        host: An address or a host name.
        port: The port; 0 for any free port.

    Raises:
        ConflictError: Another process holds the port; the message names the process.
        InvalidInputError: This machine has no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidInputError(f"server.host: cannot resolve {host!r}: {error}", field="server.host") from error
    try:
        # Without this option, a port of a server that has just ended cannot be bound for some time.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno != errno.EADDRINUSE:
            raise InvalidInputError(
                f"server.host: cannot bind {host}:{port}: {error.strerror}", field="server.host"
            ) from error
        raise _port_conflict(host, port) from error
    return listening


def _port_conflict(host: str, port: int) -> ConflictError:
    holder = find_port_holder(host, port)
    if holder is None:
        error = ConflictError(f"port {port} of {host} is already in use")
        error.hint = "choose another port with --port"
        return error
    error = ConflictError(explain_holder(holder, host, port))
    error.hint = hint_for_holder(holder, port)
    return error


def is_loopback(host: str) -> bool:
    """Check whether an address can be reached from this machine only."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials and the user that the server accepts.

    Attributes:
        key: The API key that every request must carry; None if no key is required.
        uid: The user whose local processes may connect; None if this system cannot determine the owner of a connection.
        token: The content of a file that only the user can read. OpenCode's plugin sends it. It is valid like the key.
    """

    key: str | None
    uid: int | None
    token: str


def decide_access(host: str, configured: str | None, data_dir: Path) -> Access:
    """Decide who may connect: clients with the key, and among local users only this one.

    On systems that cannot determine the owner of a connection, the token is the key if none is configured.

    Args:
        host: The address that the server binds.
        configured: ``server.api_key``.
        data_dir: The folder of the token file.

    Raises:
        InvalidInputError: Other machines could reach the server, and no key is configured.
    """
    uid = os.geteuid() if supports_owner_check() else None
    if configured is not None:
        return Access(configured, uid, _ensure_token(data_dir))
    if not is_loopback(host):
        error = InvalidInputError(
            f"server.host: other machines can reach {host}, and no API key is configured", field="server.host"
        )
        error.hint = "set server.api_key (or OPENCODE_MEMORY_API_KEY), or bind 127.0.0.1"
        raise error
    token = _ensure_token(data_dir)
    return Access(None, uid, token) if uid is not None else Access(token, None, token)


def _ensure_token(data_dir: Path) -> str:
    """Return the token from a file that only its owner can read. Create the file if it does not exist."""
    create_token(data_dir)
    return _read_token(token_file(data_dir))


def _read_token(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot read {file}: {error}", path=str(file)) from error


def serve_http(
    state: ServerState, metrics: Metrics, listening: socket.socket, *, access: Access, on_ready: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT. Acknowledged writes are durable, so the end only waits for running calls.

    Args:
        state: The state of the server.
        metrics: The metrics of the server.
        listening: The result of ``bind``.
        access: The result of ``decide_access``.
        on_ready: Called when clients can connect.
    """
    web = build_app(state, metrics, host=state.config.server.host, key=access.key, token=access.token)
    protocol: type[asyncio.Protocol] = limited_protocol()
    if access.uid is not None:
        protocol = guarded_protocol(protocol, uid=access.uid, on_refused=metrics.refuse)
    config = uvicorn.Config(
        web,
        http=protocol,
        loop="asyncio",
        ws="websockets-sansio",
        ws_max_size=MESSAGE_LIMIT,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Ignore `X-Forwarded-For`, so that a client cannot spoof its address.
        proxy_headers=False,
        # Session streams never end by themselves. Closing them loses no data.
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    _Server(config, web, on_ready).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A uvicorn server that reports when it is ready, and finishes running calls before it exits after a signal."""

    def __init__(self, config: uvicorn.Config, web: WebApp, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._web = web
        self._on_ready = on_ready
        self._ending: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        if self.started:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain running calls and exit. A second signal exits without waiting for them."""
        if self._loop is None or self._ending is not None:
            super().handle_exit(sig, frame)
            return
        self._loop.call_soon_threadsafe(self._drain_and_exit, sig)

    def _drain_and_exit(self, sig: int) -> None:
        async def end() -> None:
            try:
                await asyncio.wait_for(self._web.drain(), _GRACE_SECONDS)
            except TimeoutError:
                _log.warning("a call took longer than %s s, so it gets no answer; its writes are kept", _GRACE_SECONDS)
            super(_Server, self).handle_exit(sig, None)

        self._ending = self._ending or asyncio.create_task(end())

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()
