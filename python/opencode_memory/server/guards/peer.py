"""Whose process is at the other end of a connection: other users of this machine are turned away.

A port of 127.0.0.1 is open to everybody who is logged in, unlike a file. Linux tells the owner of each socket, so the
owner of the peer's is looked up when the connection is made, before a byte of it is parsed; what cannot be told is
refused. Elsewhere (``supports_owner_check``) a key has to do. A server on a UNIX socket has the permissions of a file
and must not use this: its peers have no address, and are refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from opencode_memory.server.guards.peer_owner import Address, find_owner, parse_address
from opencode_memory.server.guards.refusal import OnRefused, refusal_body

FindOwner = Callable[[Address, Address], int | None]

_log: Final = logging.getLogger(__name__)

_ROOT: Final = 0
# How long a refused peer has to read why, and how many may do so at once: enough for people, too little to hold the
# server's shutdown or its file descriptors.
_LINGER_SECONDS: Final = 0.5
_MOST_LINGERING: Final = 16


def guarded_protocol(
    base: type[asyncio.Protocol], *, uid: int, on_refused: OnRefused, find_owner: FindOwner = find_owner
) -> type[asyncio.Protocol]:
    """Make a protocol that speaks to processes of one user, and of root, only.

    Peers of other machines are not judged: they need a key. A peer is of this machine if either end is a loopback
    address (a client may bind to any address of the machine and connect to 127.0.0.1), or if both are the same.

    Args:
        base: A protocol class as uvicorn takes it for ``http``; it sees no connection that is refused.
        uid: The user that may ask, by the effective id of its processes.
        on_refused: Is told ``owner``.
        find_owner: Finds the owner of the peer's socket from our address and the peer's.

    Returns:
        A subclass of ``base``, for ``uvicorn.Config(http=...)``.
    """
    lingering: set[_TurnedAway] = set()

    class Guarded(base):  # type: ignore[misc, valid-type]  # the base is known when the server starts
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            admitted = False
            try:
                admitted = _is_admitted(transport, uid, find_owner)
            except OSError:
                _log.warning("cannot tell whose a connection is, so it is refused", exc_info=True)
            finally:
                # Whatever was raised: asyncio would go on to deliver the data of a connection whose making failed.
                if not admitted:
                    _TurnedAway.take_over(transport, lingering)
                    on_refused("owner")
            if admitted:
                super().connection_made(transport)

    Guarded.__name__ = Guarded.__qualname__ = f"Guarded{base.__name__}"
    return Guarded


class _TurnedAway(asyncio.Protocol):
    """A refused connection: it gets its answer, what it says is thrown away, and it is closed soon."""

    def __init__(self, transport: asyncio.Transport, lingering: set[_TurnedAway]) -> None:
        self._lingering = lingering
        self._end = asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)
        lingering.add(self)

    @classmethod
    def take_over(cls, transport: Any, lingering: set[_TurnedAway]) -> None:
        # Closing while the request is still unread would reset the connection, and the peer might not see why. So our
        # side is shut, and the rest is read until the peer closes too.
        transport.set_protocol(cls(transport, lingering))
        if len(lingering) > _MOST_LINGERING:
            transport.abort()
            return
        transport.write(_answer())
        try:
            if transport.can_write_eof():
                transport.write_eof()
        except OSError:  # it has gone already, and wants no answer
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the interface of asyncio
        self._end.cancel()
        self._lingering.discard(self)


def _is_admitted(transport: asyncio.BaseTransport, uid: int, find_owner: FindOwner) -> bool:
    # A peer that has reset the connection has no name any more, while what it sent before can still be read.
    peer, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not isinstance(peer, tuple | list) or not isinstance(local, tuple | list):
        return False
    theirs, ours = parse_address(peer[0]), parse_address(local[0])
    if theirs is None or ours is None:
        return False
    if not theirs.is_loopback and not ours.is_loopback and theirs != ours:
        return True
    return find_owner((local[0], local[1]), (peer[0], peer[1])) in {uid, _ROOT}


def _answer() -> bytes:
    hint = "run a server of your own: this one belongs to another user of this machine"
    body = refusal_body("this server speaks to its own user only", hint)
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
