"""Where the memory model is asked, read from what the person wrote.

Statements of a person's work, and the key, leave this machine only encrypted: ``http`` is for loopback addresses alone.
The address that is used is put together from the parts that were checked, so that no two readers of an odd one can
disagree about its host.
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
_COMPLETIONS: Final = "/chat/completions"
_HIGHEST_PORT: Final = 65_535
_FORM: Final = "http(s)://host[:port][/path], such as http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that chat completions are asked of.

    Attributes:
        url: With the path.
        origin: Without it, for messages.
        is_loopback: Whether it is on this machine.
    """

    url: str
    origin: str
    is_loopback: bool


def endpoint_of(base: str) -> Endpoint:
    """Read the base address of an OpenAI-compatible server.

    >>> endpoint_of("http://127.0.0.1:11434/v1/").url
    'http://127.0.0.1:11434/v1/chat/completions'

    Raises:
        InvalidInputError: It is no such address, holds a user, a query or a fragment, or would send texts of memories
            to another machine unencrypted.
    """
    # What was written is not repeated in the messages: people put passwords into addresses.
    parts = _BASE.fullmatch(base.strip())
    if parts is None or int(parts["port"] or 0) > _HIGHEST_PORT:
        message = f"url: the address of the memory model is not of the form {_FORM}"
        raise InvalidInputError(message, field="url", limit=_FORM)
    scheme, host = parts["scheme"].lower(), parts["host"].lower()
    is_loopback = _is_loopback(host)
    if scheme == "http" and not is_loopback:
        message = f"url: the memory model at {host} must be asked over https; http is for loopback addresses only"
        raise InvalidInputError(message, field="url", limit="https, or a loopback address")
    origin = f"{scheme}://{host}" + (f":{parts['port']}" if parts["port"] else "")
    return Endpoint(origin + parts["path"].removesuffix(_COMPLETIONS) + _COMPLETIONS, origin, is_loopback)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
