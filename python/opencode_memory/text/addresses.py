"""Addresses of a server: the host that clients of this machine connect to, and the URL."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_LOOPBACK: Final = MappingProxyType({"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"})  # noqa: S104  nothing is bound here


def local_host(host: str) -> str:
    """Return the host that a client of this machine connects to, for a host that a server binds."""
    return _LOOPBACK.get(host, host)


def format_address(host: str, port: int) -> str:
    """Return the address of a server for clients of this machine, as URLs and the header ``Host`` have it."""
    local = local_host(host)
    return f"{f'[{local}]' if ':' in local else local}:{port}"


def format_url(host: str, port: int) -> str:
    """Return the URL of a server for clients of this machine."""
    return f"http://{format_address(host, port)}"
