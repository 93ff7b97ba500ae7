"""Which names a request may use for this server, and which pages may send one: the fence against DNS rebinding.

A page of a stranger that makes its name resolve to 127.0.0.1 is, for the browser, of the same origin as this server;
the ``Host`` header still carries the stranger's name. A page that simply sends a request here carries its ``Origin``.
Both must be on their list. The fence answers no preflight and sends no CORS header: no page can read an answer of ours
that is not of our own origin.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.guards.peer_owner import parse_address
from opencode_memory.server.guards.refusal import OnRefused, headers_named, refuse

_LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_AUTHORITY: Final = re.compile(
    r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::(?P<port>[0-9]{1,5}|\*))?", re.ASCII
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_ANY_PORT: Final = "*"

# Scheme, name, and port: "" is the scheme's own, "*" (in a list only) is any.
_Origin = tuple[str, str, str]


def default_hosts(host: str) -> frozenset[str]:
    """Return the names under which a server that is bound to ``host`` may be asked: those of loopback, and ``host``.

    An address that stands for all of them (``0.0.0.0``, ``::``) is nobody's name, and browsers lead to this machine by
    it, so it is left out; then the names of the machine have to be configured.
    """
    address = parse_address(host.strip("[]"))
    if address is not None and address.is_unspecified:
        return _LOOPBACK_NAMES
    return _LOOPBACK_NAMES | {_host_name(host)}


def default_origins(host: str) -> frozenset[str]:
    """Return the origins that may send requests to a server bound to ``host``: pages of these names, on any port."""
    return frozenset(f"http://{name}:{_ANY_PORT}" for name in default_hosts(host))


class Fence:
    """Refuses (403) requests for a name, and from an origin, that is not allowed.

    Args:
        app: What stands behind.
        hosts: Names without a port; a request may use any port with them. IPv6 with or without brackets.
        origins: ``scheme://name``, ``scheme://name:port`` or ``scheme://name:*`` for any port.
        on_refused: Is told ``host`` or ``origin``.

    Raises:
        InvalidInputError: One of ``hosts`` or ``origins`` is not of that form.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str], on_refused: OnRefused
    ) -> None:
        self._app = app
        self._hosts = frozenset(_host_name(host) for host in hosts)
        self._origins = frozenset(_allowed_origin(origin) for origin in origins)
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or refuse it; what is neither HTTP nor a websocket is not judged."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
        elif not self._asks_for_us(scope):
            self._on_refused("host")
            hint = "ask for 127.0.0.1 or localhost, or add the name to the hosts that the server allows"
            await refuse(scope, send, 403, error="this server does not go by that name", hint=hint)
        elif not self._comes_from_friends(scope):
            self._on_refused("origin")
            hint = "if you trust the page that sent this, add its origin to those that the server allows"
            await refuse(scope, send, 403, error="requests from that origin are not allowed", hint=hint)
        else:
            await self._app(scope, receive, send)

    def _asks_for_us(self, scope: Scope) -> bool:
        # A target with a name of its own ("GET http://name/path") overrides the header by RFC 9112; it is for proxies.
        # Some servers cut that name off before it is seen here; then the header alone counts.
        target = scope.get("raw_path") or scope["path"].encode()
        values = headers_named(scope, b"host")
        if not target.startswith(b"/") or len(values) != 1:
            return False
        parts = _name_and_port(values[0])
        return parts is not None and parts[0] in self._hosts and parts[1] != _ANY_PORT

    def _comes_from_friends(self, scope: Scope) -> bool:
        values = headers_named(scope, b"origin")
        if not values:
            return True
        origin = _origin(values[0]) if len(values) == 1 else None
        if origin is None or origin[2] == _ANY_PORT:
            return False
        return origin in self._origins or (*origin[:2], _ANY_PORT) in self._origins


def _name_and_port(value: bytes) -> tuple[str, str] | None:
    """Read ``name``, ``name:port`` or ``[ipv6]:port``; the port is "" when there is none. None for anything else."""
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


def _origin(value: bytes) -> _Origin | None:
    scheme, separator, authority = value.partition(b"://")
    parts = _name_and_port(authority)
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


def _host_name(host: str) -> str:
    address = parse_address(host)
    if isinstance(address, IPv6Address | IPv4Address) and ":" in host:
        host = f"[{host}]"
    parts = _name_and_port(host.encode())
    if parts is None or parts[1]:
        raise InvalidInputError(f"{host!r} is not the name of a host", field="hosts", limit="a name without a port")
    return parts[0]


def _allowed_origin(origin: str) -> _Origin:
    parts = _origin(origin.encode())
    if parts is None:
        # "null" too: any sandboxed page sends it, so it says nothing about who asks.
        raise InvalidInputError(
            f"{origin!r} is not an origin", field="origins", limit="scheme://name, with :port or :* at most"
        )
    return parts
