"""Who listens on a TCP port of this machine, as Linux tells it in ``/proc``.

Only looks, and only as far as it is allowed to: the sockets of other users are listed, their processes are not. Other
systems have no ``/proc``, and nothing is found there.
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
    """A socket that listens.

    Attributes:
        address: Where; an unspecified address is all of them.
        port: Its port.
        uid: The user whose it is.
        inode: What the kernel calls it in the list of a process's open files.
    """

    address: Address
    port: int
    uid: int
    inode: int

    def conflicts_with(self, address: Address) -> bool:
        """Say whether nobody else can listen at this address while this socket does."""
        return self.address.is_unspecified or address.is_unspecified or self.address == address


def find_listeners(port: int, *, proc: Path = PROC) -> list[Listener]:
    """Return the sockets that listen on a port, in the order of the kernel's tables."""
    return [
        listener for name in ("tcp", "tcp6") for listener in _read_table(proc / "net" / name) if listener.port == port
    ]


def find_process(inode: int, *, proc: Path = PROC) -> int | None:
    """Return the process that holds a socket, the first when several do; None when it is not ours to see."""
    wanted = f"socket:[{inode}]"
    numbers = sorted(int(folder.name) for folder in proc.iterdir() if folder.name.isdecimal()) if proc.is_dir() else []
    return next((number for number in numbers if wanted in _list_open_files(proc / str(number))), None)


def read_command(pid: int, *, proc: Path = PROC) -> tuple[str, ...]:
    """Return the command line of a process; nothing when it has ended or hides it."""
    try:
        line = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in line.removesuffix(b"\0").split(b"\0")) if line else ()


def _read_table(file: Path) -> Iterator[Listener]:
    try:
        rows = file.read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # Another system than Linux, one without IPv6, or one that hides it.
        return
    for row in rows:
        _, local, _, state, _, _, _, uid, _, inode, *_ = row.split()
        if state == _LISTENING:
            address, _, port = local.partition(":")
            yield Listener(address=_parse_address(address), port=int(port, 16), uid=int(uid), inode=int(inode))


def _parse_address(digits: str) -> Address:
    """Read an address: words of 32 bits, each printed as the number that it is to the processor."""
    words = (int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8))
    address = ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address


def _list_open_files(process: Path) -> Iterator[str]:
    try:
        files = list((process / "fd").iterdir())
    except OSError:  # It is another user's, or has just ended.
        return
    for file in files:
        with suppress(OSError):  # It was closed just now.
            yield str(file.readlink())
