"""Which user of this machine holds the other end of a connection.

Linux only. What cannot be told for certain is not told, so that whoever asks can refuse.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from opencode_memory.server.guards import proc_net, sock_diag
from opencode_memory.server.guards.addresses import address_of
from opencode_memory.server.guards.socket_entry import End, SocketEntry

Address = tuple[str, int]
# Finds the sockets whose own end is the first and whose other end is the second.
Find = Callable[[End, End], list[SocketEntry]]

# In which state a peer's end can be when we have just accepted: established, and its writing side shut down (FIN_WAIT1,
# FIN_WAIT2). Not SYN_SENT: that is somebody else who tries the port of one who has gone.
_CONNECTED: Final = frozenset({1, 4, 5})

# The last one twice: the kernel gives that table in pieces, and a row that moves between two of them can be missed.
_KERNEL: Final[tuple[Find, ...]] = (sock_diag.find, proc_net.find, proc_net.find)


def supports_owner_check(*, ask: Sequence[Find] = _KERNEL) -> bool:
    """Return whether ``owner_of`` works on this system, by asking for the owner of a connection to ourselves.

    That there is a table proves little: some sandboxes show an empty one, and then every peer would be refused.
    """
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            return owner_of(server.getsockname(), client.getsockname(), ask=ask) == os.geteuid()
    except OSError:
        return False


def owner_of(local: Address, peer: Address, *, ask: Sequence[Find] = _KERNEL) -> int | None:
    """Return the user id of the process of this machine that a connection comes from.

    A socket that its process has closed has no owner, though the kernel shows root's id for it. Whoever connects, sends
    and closes before we look would pass as root, so such a socket (inode 0) tells nothing.

    Args:
        local: Address and port of our end.
        peer: Address and port of the other.
        ask: Ways to ask the kernel; the first that finds a socket decides.

    Returns:
        None if no socket of this machine is the peer, or none that a process holds.

    Raises:
        OSError: The kernel has a table and does not let us read it.
    """
    ours, theirs = address_of(local[0]), address_of(peer[0])
    if ours is None or theirs is None or ours.version != theirs.version:
        return None
    for find in ask:
        if entries := find((theirs, peer[1]), (ours, local[1])):
            owners = {entry.uid for entry in entries if entry.state in _CONNECTED and entry.inode}
            return owners.pop() if len(owners) == 1 else None
    return None
