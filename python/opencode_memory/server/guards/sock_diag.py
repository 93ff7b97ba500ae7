"""Asking the kernel for one TCP socket by its two ends, over netlink (linux/include/uapi/linux/inet_diag.h).

Takes microseconds. Reading ``/proc/net/tcp`` walks the whole table of connections instead, which on a machine of 24 GB
has 262,144 places and takes 5 ms however few are in use: too long for an event loop, at each connection.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from typing import Final

from opencode_memory.server.guards.socket_entry import End, SocketEntry

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_NO_COOKIE: Final = 0xFFFFFFFF
_ALL_STATES: Final = 0xFFFFFFFF
# With it the kernel finds sockets that are bound to the loopback device, and those that are bound to none.
_LOOPBACK_INDEX: Final = 1

_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr
_REQUEST: Final = struct.Struct("=BBxxI")  # inet_diag_req_v2 without its id
_ENDS: Final = struct.Struct(">HH16s16s")  # inet_diag_sockid: the ends are in network order,
_DEVICE: Final = struct.Struct("=III")  # the rest is not
_ANSWER: Final = struct.Struct("=xBxx48x12xII")  # inet_diag_msg: state, uid, inode


def find(theirs: End, ours: End) -> list[SocketEntry]:
    """Return the socket whose own end is ``theirs`` and whose other end is ``ours``.

    Returns:
        One entry, which is a listening socket's if there is none of these ends but one that waits at ``theirs``. An
        empty list if there is neither, or if this kernel cannot be asked in this way: it answers both alike.
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
    # A kernel or a sandbox without this refuses one of the calls.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as netlink,
    ):
        netlink.sendto(header + question, (0, 0))
        # The kernel answers within the call that asks, so there is nothing to wait for.
        answer = netlink.recv(4096, socket.MSG_DONTWAIT)
        if len(answer) >= _HEADER.size + _ANSWER.size and _HEADER.unpack_from(answer)[1] == _SOCK_DIAG_BY_FAMILY:
            return [SocketEntry(*_ANSWER.unpack_from(answer, _HEADER.size))]
    return []
