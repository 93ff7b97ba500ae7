"""What the kernel tells about a TCP socket of this machine, whichever way it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

# A host as an address, and a port.
End = tuple[IPv4Address | IPv6Address, int]


@dataclass(frozen=True)
class SocketEntry:
    """A socket.

    Args:
        state: One of linux/include/net/tcp_states.h.
        uid: The user who made it; root for one that no process holds.
        inode: 0 for one that no process holds.
    """

    state: int
    uid: int
    inode: int
