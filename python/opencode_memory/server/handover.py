"""Endpoint ``/handover``: gives the port and the sessions of this server to the newer one that replaces it.

This server stops accepting connections, but its port stays open: new connections wait in the queue of the socket, which
the other process takes over. Meanwhile this server answers what it has read. It closes HTTP connections after their
next answer, and WebSockets with a code that says that every request it read is answered, so their clients send the
other requests again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
from starlette.responses import JSONResponse

from opencode_memory.platform import system
from opencode_memory.resident.client import ACCEPTED_STATUS
from opencode_memory.server.guards.owner_token import OwnerToken, refuse_without_token

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_DECLINED: Final = 409
_CONNECT_SECONDS: Final = 2.0
_SEND_SECONDS: Final = 10.0
_SETTLE_SECONDS: Final = 10.0
"""Time for the answers to calls that are running. Later ones get none; their writes are kept."""
_log: Final = logging.getLogger(__name__)


class Handover:
    """The endpoint.

    Args:
        token: The content of the token file, which only the user can read.
        settle: Answers what was read, and closes the WebSockets.
        describe: Returns what the next server has to know, as JSON values.
    """

    def __init__(
        self, token: str, *, settle: Callable[[], Awaitable[None]], describe: Callable[[], Mapping[str, Any]]
    ) -> None:
        self._token = OwnerToken(token)
        self._settle = settle
        self._describe = describe
        self._stop_listening: Callable[[], socket.socket] | None = None
        self._wait_for_requests: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        self._end: Callable[[], None] = lambda: None
        self._moving: asyncio.Task[None] | None = None

    @property
    def is_moving(self) -> bool:
        """Whether a newer server has begun to take over."""
        return self._moving is not None

    def allow(
        self,
        *,
        stop_listening: Callable[[], socket.socket],
        wait_for_requests: Callable[[], Awaitable[None]],
        end: Callable[[], None],
    ) -> None:
        """Let newer servers take over from now on.

        Args:
            stop_listening: Stops accepting connections, and returns the socket, which still listens.
            wait_for_requests: Waits until a request was read from each connection that was accepted.
            end: Ends this server.
        """
        self._stop_listening, self._wait_for_requests, self._end = stop_listening, wait_for_requests, end

    async def handle(self, request: Request) -> Response:
        """Begin to hand over to the process that listens at the UNIX socket of the request."""
        if not self._token.is_in(request.scope):
            return refuse_without_token()
        receiver = None
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            receiver = await anyio.to_thread.run_sync(_connect, (await request.json())["socket"])
        if receiver is None or self._stop_listening is None or self.is_moving:
            if receiver is not None:
                receiver.close()
            return JSONResponse({"error": "this server cannot be taken over this way"}, status_code=_DECLINED)
        self._moving = asyncio.create_task(self._move(receiver, self._stop_listening()))
        return JSONResponse({}, status_code=ACCEPTED_STATUS)

    async def _move(self, receiver: socket.socket, listening: socket.socket) -> None:
        try:
            with receiver, listening:
                with anyio.move_on_after(_SETTLE_SECONDS) as limit:
                    await self._wait_for_requests()
                    await self._settle()
                if limit.cancelled_caught:
                    _log.warning("a call took longer than %s s, so it gets no answer", _SETTLE_SECONDS)
                document = json.dumps(self._describe()).encode()
                with suppress(OSError):  # The other process is gone. The next one starts without the sessions.
                    await anyio.to_thread.run_sync(_send, receiver, listening, document)
        finally:
            self._end()


def _connect(path: str) -> socket.socket | None:
    """Connect to a UNIX socket; None if it belongs to another user.

    Raises:
        OSError: No process listens there.
    """
    with ExitStack() as opened:
        receiver = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        receiver.settimeout(_CONNECT_SECONDS)
        receiver.connect(path)
        if _owner_of(receiver) not in (system().user_id(), None):
            return None
        receiver.settimeout(_SEND_SECONDS)
        opened.pop_all()
        return receiver
    return None


def _owner_of(receiver: socket.socket) -> int | None:
    """Return the user whose process listens; None if this system does not tell."""
    if sys.platform != "linux":
        return None
    form = "3i"
    return int(
        struct.unpack(form, receiver.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form)))[1]
    )


def _send(receiver: socket.socket, listening: socket.socket, document: bytes) -> None:
    socket.send_fds(receiver, [b"\n"], [listening.fileno()])
    receiver.sendall(document)
