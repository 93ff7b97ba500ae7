"""Finds the processes that listen on a TCP port of this machine, from Linux's ``/proc``.

This module only reads, with the permissions of the user. It sees the sockets of other users, but not their processes.
On systems without ``/proc`` it finds no listeners.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

Address = IPv4Address | IPv6Address

PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A listening socket.

    Attributes:
        address: Its address; an unspecified address stands for all addresses.
        port: Its port.
        uid: Id of its user.
        inode: Its inode, which identifies it among the open files of a process.
    """

    address: Address
    port: int
    uid: int
    inode: int

    def conflicts_with(self, address: Address) -> bool:
        """Return whether this socket keeps other sockets from listening at an address."""
        return self.address.is_unspecified or address.is_unspecified or self.address == address


def find_listeners(port: int, *, proc: Path = PROC) -> list[Listener]:
    """Find the sockets that listen on a port, in the order of the kernel's tables."""
    return [
        listener for name in ("tcp", "tcp6") for listener in _read_table(proc / "net" / name) if listener.port == port
    ]


def find_process(inode: int, *, proc: Path = PROC) -> int | None:
    """Find the process that holds a socket, the first one if there are several; None if it is not visible."""
    wanted = f"socket:[{inode}]"
    numbers = sorted(int(folder.name) for folder in proc.iterdir() if folder.name.isdecimal()) if proc.is_dir() else []
    return next((number for number in numbers if wanted in _list_open_files(proc / str(number))), None)


def read_command(pid: int, *, proc: Path = PROC) -> tuple[str, ...]:
    """Return the command line of a process; empty if it has ended or is not visible."""
    try:
        line = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in line.removesuffix(b"\0").split(b"\0")) if line else ()


def _read_table(file: Path) -> Iterator[Listener]:
    try:
        rows = file.read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # Not Linux, no IPv6, or no permission.
        return
    for row in rows:
        _, local, _, state, _, _, _, uid, _, inode, *_ = row.split()
        if state == _LISTENING:
            address, _, port = local.partition(":")
            yield Listener(address=_parse_address(address), port=int(port, 16), uid=int(uid), inode=int(inode))


def _parse_address(digits: str) -> Address:
    """Parse an address: 32-bit words in hexadecimal digits, each in the byte order of the processor."""
    words = (int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8))
    address = ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address


def _list_open_files(process: Path) -> Iterator[str]:
    try:
        files = list((process / "fd").iterdir())
    except OSError:  # Another user's process, or it has just ended.
        return
    for file in files:
        with suppress(OSError):  # The process has just closed the file.
            yield str(file.readlink())
