"""Reading sockets out of ``/proc/net/tcp`` and ``tcp6``: everywhere on Linux, and slow (see ``sock_diag``)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from opencode_memory.server.guards.socket_entry import End, SocketEntry

_NET: Final = Path("/proc/net")
_MAPPED: Final = bytes(10) + b"\xff\xff"
# Fields of a row: sl, local, remote, state, queues, timer, retransmits, uid, timeout, inode, ...
_STATE, _UID, _INODE = 3, 7, 9


def find(theirs: End, ours: End, *, net: Path = _NET) -> list[SocketEntry]:
    """Return the sockets whose own end is ``theirs`` and whose other end is ``ours``.

    Args:
        theirs: Address and port of the socket.
        ours: Those of the other end, of the same version.
        net: Where the kernel's tables are.

    Returns:
        At most one entry, as a rule; more while the kernel moves one of them.

    Raises:
        OSError: A table is there and cannot be read.
    """
    # A client may speak IPv4 through a socket of IPv6, and is then in the other table.
    forms = [("tcp", b""), ("tcp6", _MAPPED)] if ours[0].version == 4 else [("tcp6", b"")]  # noqa: PLR2004
    found: list[SocketEntry] = []
    for table, prefix in forms:
        ends = b" ".join(b"%b:%04X" % (_hexadecimal(prefix + host.packed), port) for host, port in (theirs, ours))
        found += _rows(net / table, b" %b " % ends)
    return found


def _rows(table: Path, ends: bytes) -> list[SocketEntry]:
    try:
        text = table.read_bytes()
    except FileNotFoundError:  # no tcp6 on a kernel without IPv6
        return []
    if ends not in text:
        return []
    rows = [line.split() for line in text.splitlines() if ends in line]
    return [SocketEntry(int(row[_STATE], 16), int(row[_UID]), int(row[_INODE])) for row in rows]


def _hexadecimal(packed: bytes) -> bytes:
    """Write an address as the kernel does: word by word, each word's bytes in the order of this machine."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return b"".join(b"%08X" % int.from_bytes(word, sys.byteorder) for word in words)
