"""Addresses of servers that the user has configured.

Texts and tokens leave this machine only encrypted: ``http`` is allowed for loopback addresses alone. An address is
rebuilt from its validated parts, so that two parsers of an unusual URL cannot disagree about its host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from opencode_memory.errors import InvalidInputError

_BASE: Final = re.compile(
    r"""(?P<scheme>https?)://
    (?P<host>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])
    (?::(?P<port>\d{1,5}))?
    (?P<path>(?:/[a-z0-9._~%@:+-]+)*)/?""",
    re.VERBOSE | re.IGNORECASE,
)
_HIGHEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Base address of a server.

    Attributes:
        origin: Scheme, host and port; used in messages.
        host: The host in lower case.
        path: The path without a slash at its end; may be empty.
        is_loopback: Whether the host is this machine.
    """

    origin: str
    host: str
    path: str
    is_loopback: bool


def parse_address(base: str, *, field: str, about: str, form: str) -> Address:
    """Parse a base address.

    Args:
        base: The text of the user.
        field: Name of the setting, for errors.
        about: Description of the server, for errors.
        form: Description of a valid address, for errors.

    Raises:
        InvalidInputError: The URL is invalid, contains a user, a query or a fragment, or would send texts or tokens to
            another machine unencrypted.
    """
    # The messages do not repeat the input, because users put passwords into URLs.
    parts = _BASE.fullmatch(base.strip())
    if parts is None or int(parts["port"] or 0) > _HIGHEST_PORT:
        message = f"{field}: the address of {about} is not of the form {form}"
        raise InvalidInputError(message, field=field, limit=form)
    scheme, host = parts["scheme"].lower(), parts["host"].lower()
    is_loopback = names_loopback(host)
    if scheme == "http" and not is_loopback:
        message = f"{field}: {host} must use https; http is allowed for loopback addresses only"
        raise InvalidInputError(message, field=field, limit="https, or a loopback address")
    origin = f"{scheme}://{host}" + (f":{parts['port']}" if parts["port"] else "")
    return Address(origin, host, parts["path"], is_loopback)


def names_loopback(host: str) -> bool:
    """Return whether a host can be reached from this machine only: a loopback address or ``localhost``."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
