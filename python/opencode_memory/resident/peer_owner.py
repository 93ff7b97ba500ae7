"""Looks up the user that owns the other end of a TCP connection within this machine.

Linux only. If the owner is not certain, the answer is None, so that the caller can refuse the connection.

The kernel is asked over netlink (linux/include/uapi/linux/inet_diag.h), which takes microseconds, and then through
``/proc/net/tcp``. Reading that file walks the whole table of connections: on a machine with 24 GB of memory it has
262,144 slots and takes 5 ms even when few are in use. That is too long for an event loop at each connection, so the
file is only read if netlink finds no socket.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from opencode_memory.platform import system

Address = tuple[str, int]
"""Host and port, as ``socket`` returns them."""
End = tuple[IPv4Address | IPv6Address, int]
"""One end of a connection: parsed address and port."""


@dataclass(frozen=True)
class SocketEntry:
    """A TCP socket as the kernel describes it.

    Args:
        state: A state from linux/include/net/tcp_states.h.
        uid: The user who created it; root if no process holds it.
        inode: 0 if no process holds it.
    """

    state: int
    uid: int
    inode: int


FindSockets = Callable[[End, End], list[SocketEntry]]
"""Returns the sockets whose own end is the first argument and whose other end is the second."""

# States in which the peer's end can be just after we accepted: ESTABLISHED, FIN_WAIT1, FIN_WAIT2. SYN_SENT is missing
# on purpose: such a socket belongs to another process, which reuses the port of a peer that has already closed.
_CONNECTED: Final = frozenset({1, 4, 5})

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_NO_COOKIE: Final = 0xFFFFFFFF
_ALL_STATES: Final = 0xFFFFFFFF
# With this index the kernel finds sockets bound to the loopback device and sockets bound to no device.
_LOOPBACK_INDEX: Final = 1

_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr
_REQUEST: Final = struct.Struct("=BBxxI")  # inet_diag_req_v2 without its id
_ENDS: Final = struct.Struct(">HH16s16s")  # inet_diag_sockid: ports and addresses are in network byte order,
_DEVICE: Final = struct.Struct("=III")  # device and cookie are in native byte order
_ANSWER: Final = struct.Struct("=xBxx48x12xII")  # inet_diag_msg: state, uid, inode

_NET: Final = Path("/proc/net")
_MAPPED: Final = bytes(10) + b"\xff\xff"
# Fields of a row: sl, local, remote, state, queues, timer, retransmits, uid, timeout, inode, ...
_STATE, _UID, _INODE = 3, 7, 9


def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address; an IPv4 address written as IPv6 becomes IPv4. Return None if ``host`` is not an address.

    >>> parse_address("::ffff:127.0.0.1")
    IPv4Address('127.0.0.1')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def find_by_netlink(theirs: End, ours: End) -> list[SocketEntry]:
    """Ask the kernel over netlink for the socket whose own end is ``theirs`` and whose other end is ``ours``.

    Returns:
        At most one entry. If no socket has these two ends, the entry of a socket that listens at ``theirs``. Empty if
        there is neither, and also if this kernel does not support the request.
    """
    if sys.platform != "linux":
        return []
    family = socket.AF_INET if theirs[0].version == 4 else socket.AF_INET6  # noqa: PLR2004
    question = (
        _REQUEST.pack(family, socket.IPPROTO_TCP, _ALL_STATES)
        + _ENDS.pack(theirs[1], ours[1], theirs[0].packed, ours[0].packed)
        + _DEVICE.pack(_LOOPBACK_INDEX, _NO_COOKIE, _NO_COOKIE)
    )
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    # A kernel or a sandbox without this feature refuses one of the calls.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as netlink,
    ):
        netlink.sendto(header + question, (0, 0))
        # The kernel has answered when `sendto` returns. Waiting would block if it did not understand the request.
        answer = netlink.recv(4096, socket.MSG_DONTWAIT)
        if len(answer) >= _HEADER.size + _ANSWER.size and _HEADER.unpack_from(answer)[1] == _SOCK_DIAG_BY_FAMILY:
            return [SocketEntry(*_ANSWER.unpack_from(answer, _HEADER.size))]
    return []


def find_in_proc(theirs: End, ours: End, *, net: Path = _NET) -> list[SocketEntry]:
    """Search the kernel's tables for the sockets whose own end is ``theirs`` and whose other end is ``ours``.

    Args:
        theirs: Address and port of the socket.
        ours: Address and port of the other end, of the same IP version.
        net: The folder of the tables.

    Returns:
        Usually at most one entry; more while the kernel moves an entry.

    Raises:
        OSError: A table exists but cannot be read.
    """
    # A client may speak IPv4 through an IPv6 socket, which is in the IPv6 table.
    forms = [("tcp", b""), ("tcp6", _MAPPED)] if ours[0].version == 4 else [("tcp6", b"")]  # noqa: PLR2004
    found: list[SocketEntry] = []
    for table, prefix in forms:
        ends = b" ".join(b"%b:%04X" % (_hexadecimal(prefix + host.packed), port) for host, port in (theirs, ours))
        found += _read_rows(net / table, b" %b " % ends)
    return found


def _read_rows(table: Path, ends: bytes) -> list[SocketEntry]:
    try:
        text = table.read_bytes()
    except FileNotFoundError:  # a kernel without IPv6 has no tcp6
        return []
    if ends not in text:
        return []
    rows = [line.split() for line in text.splitlines() if ends in line]
    return [SocketEntry(int(row[_STATE], 16), int(row[_UID]), int(row[_INODE])) for row in rows]


def _hexadecimal(packed: bytes) -> bytes:
    """Format an address as the kernel does: 32-bit words, each in the byte order of this machine."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return b"".join(b"%08X" % int.from_bytes(word, sys.byteorder) for word in words)


# The table is read twice, because the kernel returns it in pieces. A row that moves between two pieces can be missed.
_FINDERS: Final[tuple[FindSockets, ...]] = (find_by_netlink, find_in_proc, find_in_proc)


def supports_owner_check(*, finders: Sequence[FindSockets] = _FINDERS) -> bool:
    """Check that ``find_owner`` works on this system, by looking up the owner of a connection to ourselves.

    It is not enough that the tables exist: some sandboxes show empty ones, and every peer would then be refused.
    """
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            return find_owner(server.getsockname(), client.getsockname(), finders=finders) == system().user_id()
    except OSError:
        return False


def find_owner(local: Address, peer: Address, *, finders: Sequence[FindSockets] = _FINDERS) -> int | None:
    """Return the user id of the local process that a connection comes from.

    A socket that its process has closed has no owner, although the kernel reports root for it (with inode 0). Such
    sockets are ignored. Otherwise a process that connects, sends and closes quickly would pass as root.

    Args:
        local: Address and port of our end.
        peer: Address and port of the other end.
        finders: Lookups to try in order; the first that finds a socket decides.

    Returns:
        None if the peer is not a socket of this machine, or if no process holds that socket.

    Raises:
        OSError: The kernel has a table that this process cannot read.
    """
    ours, theirs = parse_address(local[0]), parse_address(peer[0])
    if ours is None or theirs is None or ours.version != theirs.version:
        return None
    for find in finders:
        if entries := find((theirs, peer[1]), (ours, local[1])):
            owners = {entry.uid for entry in entries if entry.state in _CONNECTED and entry.inode}
            return owners.pop() if len(owners) == 1 else None
    return None
