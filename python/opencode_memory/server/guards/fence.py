"""Allowlists for the ``Host`` and ``Origin`` headers: protection against DNS rebinding and foreign web pages.

An attacker can make a domain resolve to 127.0.0.1. For the browser, a page of that domain then has the same origin as
this server, but its requests carry the attacker's name in ``Host``. A page that just sends a request to 127.0.0.1
carries its own ``Origin``. Both headers must be on their allowlist.

The fence answers no preflight request and sends no CORS header, so a page of another origin cannot read any response.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.resident.peer_owner import parse_address
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse

_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_AUTHORITY: Final = re.compile(
    r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::(?P<port>[0-9]{1,5}|\*))?", re.ASCII
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_ANY_PORT: Final = "*"

# Scheme, name and port. The port "" is the default of the scheme; "*" (in an allowlist only) is any port.
_Origin = tuple[str, str, str]


def default_hosts(host: str) -> frozenset[str]:
    """Return the names by which clients may address a server bound to ``host``: ``host`` and the loopback names.

    The unspecified addresses (``0.0.0.0``, ``::``) are left out. They are no machine's name, but browsers connect to
    this machine by them. For such a server the names of the machine have to be configured.
    """
    address = parse_address(host.strip("[]"))
    if address is not None and address.is_unspecified:
        return _LOOPBACK_NAMES
    return _LOOPBACK_NAMES | {_parse_host(host)}


def default_origins(host: str) -> frozenset[str]:
    """Return the origins that may send requests to a server bound to ``host``: its default names, on any port."""
    return frozenset(f"http://{name}:{_ANY_PORT}" for name in default_hosts(host))


class Fence:
    """Refuses (403) requests whose host or origin is not allowed.

    Args:
        app: The app behind this guard.
        hosts: Allowed names without a port; any port is allowed. IPv6 addresses may have brackets.
        origins: ``scheme://name``, ``scheme://name:port``, or ``scheme://name:*`` for any port.
        on_refused: Called with ``host`` or ``origin`` for each refusal.

    Raises:
        InvalidInputError: An item of ``hosts`` or ``origins`` is malformed.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str], on_refused: OnRefused
    ) -> None:
        self._app = app
        self._hosts = frozenset(_parse_host(host) for host in hosts)
        self._origins = frozenset(_parse_allowed_origin(origin) for origin in origins)
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it. Other protocols than HTTP and WebSocket pass unchecked."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
        elif not self._has_allowed_host(scope):
            self._on_refused("host")
            hint = "use 127.0.0.1 or localhost, or add the name to server.allowed_hosts"
            await refuse(scope, send, 403, error="the Host header names a host that is not allowed", hint=hint)
        elif not self._has_allowed_origin(scope):
            self._on_refused("origin")
            hint = "if you trust the page that sent the request, add its origin to server.allowed_origins"
            await refuse(scope, send, 403, error="requests from that origin are not allowed", hint=hint)
        else:
            await self._app(scope, receive, send)

    def _has_allowed_host(self, scope: Scope) -> bool:
        # By RFC 9112, a target in absolute form ("GET http://name/path"), as sent to proxies, overrides the header.
        # Some HTTP servers strip that name before it gets here; then the header decides.
        target = scope.get("raw_path") or scope["path"].encode()
        values = headers_named(scope, b"host")
        if not target.startswith(b"/") or len(values) != 1:
            return False
        parts = _split_authority(values[0])
        return parts is not None and parts[0] in self._hosts and parts[1] != _ANY_PORT

    def _has_allowed_origin(self, scope: Scope) -> bool:
        values = headers_named(scope, b"origin")
        if not values:
            return True
        origin = _parse_origin(values[0]) if len(values) == 1 else None
        if origin is None or origin[2] == _ANY_PORT:
            return False
        return origin in self._origins or (*origin[:2], _ANY_PORT) in self._origins


def _split_authority(value: bytes) -> tuple[str, str] | None:
    """Split ``name``, ``name:port`` or ``[ipv6]:port``; the port may be "". Return None for any other form."""
    try:
        match = _AUTHORITY.fullmatch(value.decode("ascii").lower())
    except UnicodeDecodeError:
        return None
    if match is None:
        return None
    name, port = match["name"], match["port"] or ""
    if name.startswith("["):
        try:
            name = f"[{IPv6Address(name[1:-1]).compressed}]"
        except ValueError:
            return None
    return name.removesuffix("."), port.lstrip("0") or port[:1]


def _parse_origin(value: bytes) -> _Origin | None:
    scheme, separator, authority = value.partition(b"://")
    parts = _split_authority(authority)
    if not separator or parts is None:
        return None
    try:
        match = _SCHEME.fullmatch(scheme.decode("ascii").lower())
    except UnicodeDecodeError:
        return None
    if match is None:
        return None
    name, port = parts
    return match[0], name, "" if port == _DEFAULT_PORTS.get(match[0]) else port


def _parse_host(host: str) -> str:
    address = parse_address(host)
    if isinstance(address, IPv6Address | IPv4Address) and ":" in host:
        host = f"[{host}]"
    parts = _split_authority(host.encode())
    if parts is None or parts[1]:
        raise InvalidInputError(f"{host!r} is not a valid host name", field="hosts", limit="a name without a port")
    return parts[0]


def _parse_allowed_origin(origin: str) -> _Origin:
    parts = _parse_origin(origin.encode())
    if parts is None:
        # This includes "null". Any sandboxed page sends it, so it does not identify the sender.
        raise InvalidInputError(
            f"{origin!r} is not a valid origin", field="origins", limit="scheme://name, with an optional :port or :*"
        )
    return parts
