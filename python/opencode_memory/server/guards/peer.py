"""Refuses connections from processes of other users of this machine.

Unlike a file, a port of 127.0.0.1 is open to every user who is logged in. Linux knows the owner of each socket. So the
guard looks up the owner of the peer's socket when a connection is made, before it parses any byte. If the owner is not
certain, it refuses the connection. Systems without that lookup (see ``supports_owner_check``) need an API key instead.

Do not use this guard on a UNIX socket. File permissions protect such a socket, and its peers have no address, so the
guard would refuse all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from opencode_memory.resident.peer_owner import Address, find_owner, parse_address
from opencode_memory.server.guards.refusal import OnRefused, refusal_body

FindOwner = Callable[[Address, Address], int | None]

_log: Final = logging.getLogger(__name__)

_ROOT: Final = 0
# Time for a refused peer to read the reason, and how many peers may do so at once. That is enough for a user, and too
# little to delay the server's shutdown or to exhaust its file descriptors.
_LINGER_SECONDS: Final = 0.5
_MOST_LINGERING: Final = 16


def guarded_protocol(
    base: type[asyncio.Protocol], *, uid: int, on_refused: OnRefused, find_owner: FindOwner = find_owner
) -> type[asyncio.Protocol]:
    """Create a protocol class that accepts processes of one user and of root only.

    Peers on other machines pass unchecked; they need a key. A peer is on this machine if either end is a loopback
    address, or if both addresses are equal. One loopback end is enough, because a client may bind to any address of the
    machine and connect to 127.0.0.1.

    Args:
        base: A protocol class as uvicorn takes it for ``http``. It never sees a refused connection.
        uid: Effective user id of the processes to accept.
        on_refused: Called with ``owner`` for each refusal.
        find_owner: Finds the owner of the peer's socket from our address and the peer's address.

    Returns:
        A subclass of ``base``, for ``uvicorn.Config(http=...)``.
    """
    lingering: set[_RefusedConnection] = set()

    class Guarded(base):  # type: ignore[misc, valid-type]  # the base is known when the server starts
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            admitted = False
            try:
                admitted = _is_admitted(transport, uid, find_owner)
            except OSError:
                _log.warning("refused a connection, because its owner cannot be determined", exc_info=True)
            finally:
                # Do this after any exception: asyncio delivers data even if `connection_made` raised an error.
                if not admitted:
                    _RefusedConnection.take_over(transport, lingering)
                    on_refused("owner")
            if admitted:
                super().connection_made(transport)

    Guarded.__name__ = Guarded.__qualname__ = f"Guarded{base.__name__}"
    return Guarded


class _RefusedConnection(asyncio.Protocol):
    """A refused connection: it gets a response, its data is discarded, and it is closed after a short time."""

    def __init__(self, transport: asyncio.Transport, lingering: set[_RefusedConnection]) -> None:
        self._lingering = lingering
        self._end = asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)
        lingering.add(self)

    @classmethod
    def take_over(cls, transport: Any, lingering: set[_RefusedConnection]) -> None:
        # Closing while the request is still unread would reset the connection, and the peer might never see the
        # response. So shut down our side only, and read the rest until the peer closes its side.
        transport.set_protocol(cls(transport, lingering))
        if len(lingering) > _MOST_LINGERING:
            transport.abort()
            return
        transport.write(_answer())
        try:
            if transport.can_write_eof():
                transport.write_eof()
        except OSError:  # the peer has already closed the connection
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the interface of asyncio
        self._end.cancel()
        self._lingering.discard(self)


def _is_admitted(transport: asyncio.BaseTransport, uid: int, find_owner: FindOwner) -> bool:
    # A peer that has reset the connection has no address any more, but the data that it sent could still be read.
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
    hint = "start your own server; this one belongs to another user of this machine"
    body = refusal_body("this server accepts connections of its own user only", hint)
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
