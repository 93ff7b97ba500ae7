"""The resident server process: serves HTTP until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

import uvicorn

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.platform import system
from opencode_memory.server.guards import counted_protocol, divide_files, guarded_protocol, limited_protocol
from opencode_memory.server.listening import BACKLOG
from opencode_memory.server.plugin.endpoint import MESSAGE_LIMIT
from opencode_memory.server.web import WebApp, build_app

if TYPE_CHECKING:
    from opencode_memory.server.client_project import Described
    from opencode_memory.server.listening import Access
    from opencode_memory.server.metrics import Metrics
    from opencode_memory.server.server_state import ServerState

_GRACE_SECONDS: Final = 1
"""Grace period after a signal: first for running calls to finish, then for streams to close."""
_FIRST_REQUEST_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.02
_TICK_SECONDS: Final = 1.0
_RENEWS_DATE: Final = 0
"""A number of a tick at which uvicorn renews the date; at nine of ten numbers it does not."""
_log: Final = logging.getLogger(__name__)


def serve_http(
    state: ServerState,
    metrics: Metrics,
    listening: socket.socket,
    *,
    access: Access,
    adopted: Mapping[str, Described],
    on_ready: Callable[[], None],
    on_complete: Callable[[], None],
    ends_after_failure: bool,
) -> None:
    """Serve until SIGTERM or SIGINT. Acknowledged writes are durable, so the end only waits for running calls.

    Args:
        state: The state of the server.
        metrics: The metrics of the server.
        listening: The result of ``bind``.
        access: The result of ``decide_access``.
        adopted: The sessions of the server that this one replaces, by path.
        on_ready: Called when clients can connect.
        on_complete: Called when all modules are imported that most clients need.
        ends_after_failure: Whether the server ends after one of its tasks has failed. Otherwise it refuses its clients.

    Raises:
        OpencodeMemoryError: The server has ended because a task has failed.
    """
    web = build_app(
        state,
        metrics,
        host=state.config.server.host,
        key=access.key,
        token=access.token,
        adopted=adopted,
        on_complete=on_complete,
    )
    connections, batch = divide_files(system().most_open_files)
    protocol: type[asyncio.Protocol] = counted_protocol(limited_protocol(), most=connections, on_refused=metrics.refuse)
    if access.uid is not None:
        protocol = guarded_protocol(protocol, uid=access.uid, on_refused=metrics.refuse)
    config = uvicorn.Config(
        web,
        http=protocol,
        loop="asyncio",
        ws="websockets-sansio",
        ws_max_size=MESSAGE_LIMIT,
        # asyncio accepts up to so many connections at once. See ``startup``.
        backlog=batch,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Ignore `X-Forwarded-For`, so that a client cannot spoof its address.
        proxy_headers=False,
        # Session streams never end by themselves. Closing them loses no data.
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config, web, on_ready)
    if ends_after_failure:
        state.tasks.end_after_failure(server.end)
    server.run(sockets=[listening])
    if ends_after_failure and state.tasks.have_failed:
        error = OpencodeMemoryError(*state.tasks.problems)
        error.hint = "start the server again; a service manager does so by itself"
        raise error


class _Server(uvicorn.Server):
    """A uvicorn server that reports when it is ready, and finishes running calls before it exits after a signal."""

    def __init__(self, config: uvicorn.Config, web: WebApp, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._web = web
        self._on_ready = on_ready
        self._ending: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._should_look = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end. An idle server wakes once a second, to renew the date in the headers of its answers."""
        while not await self.on_tick(_RENEWS_DATE):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._should_look.wait(), _TICK_SECONDS)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            # asyncio also took the size of its batches for that of the queue.
            listening.listen(BACKLOG)
        self._loop = asyncio.get_running_loop()
        if self.started:
            self._web.handover.allow(
                stop_listening=self._stop_listening,
                wait_for_requests=self._wait_for_requests,
                end=lambda: self._exit(signal.SIGTERM, None),
            )
            self._on_ready()

    def _stop_listening(self) -> socket.socket:
        """Stop accepting connections, and return the socket, whose queue keeps those that come."""
        listening = self.servers[0].sockets[0].dup()
        for server in self.servers:
            for one in server.sockets:
                # Do not close the server: asyncio would drop the connections that it has accepted just now.
                asyncio.get_running_loop().remove_reader(one.fileno())
        return listening

    async def _wait_for_requests(self) -> None:
        """Wait for the first request of each HTTP connection that was accepted, because its client has no other one."""
        until = time.monotonic() + _FIRST_REQUEST_SECONDS
        is_waiting = True
        while is_waiting and time.monotonic() < until:
            # There is no event for this: uvicorn only keeps the last request of a connection.
            await asyncio.sleep(_PAUSE_SECONDS)
            is_waiting = any(getattr(one, "cycle", self) is None for one in self.server_state.connections)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain running calls and exit. A second signal exits without waiting for them."""
        if self._loop is None or self._ending is not None:
            self._exit(sig, frame)
            return
        self._loop.call_soon_threadsafe(self._drain_and_exit, sig)

    def _exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._should_look.set)

    def end(self) -> None:
        """Drain running calls and exit. Only for callers in the event loop of the server."""
        self._drain_and_exit(signal.SIGTERM)

    def _drain_and_exit(self, sig: int) -> None:
        async def end() -> None:
            try:
                await asyncio.wait_for(self._web.drain(), _GRACE_SECONDS)
            except TimeoutError:
                _log.warning("a call took longer than %s s, so it gets no answer; its writes are kept", _GRACE_SECONDS)
            self._exit(sig, None)

        self._ending = self._ending or asyncio.create_task(end())

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()
