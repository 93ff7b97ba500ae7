"""Connection of a command to the resident server of the same user, store, version and settings.

A command that finds such a server lets it do the work, and loads neither the model nor the store. Every reason against
it (no server, another version, no answer in time) makes the command do the work itself.

This module speaks HTTP over a socket and imports little, because loading an HTTP library would take longer than the
request.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.settings import SETTINGS
from opencode_memory.platform import system
from opencode_memory.resident.peer_owner import find_owner
from opencode_memory.text.addresses import format_address, local_host

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_memory.config.load import Config

PATH: Final = "/delegate"
LOOPS_PATH: Final = "/loops"
UI_LINK_PATH: Final = "/ui/link"
STDIO_PATH: Final = "/stdio"
HANDOVER_PATH: Final = "/handover"
ACCEPTED_STATUS: Final = 202
MOVED: Final = 4010
"""Close code of a WebSocket whose server is replaced: it has answered every request that it read."""
_CONNECT_SECONDS: Final = 0.25
_ACCEPT_SECONDS: Final = 0.25
_PAUSE_SECONDS: Final = 0.002
_ANSWER_SECONDS: Final = 2.0
_MOST_BYTES: Final = 64 * 1024 * 1024
_PIECE: Final = 1 << 16
_OK: Final = 200
_OWN_KEYS: Final = ("server.", "data_dir", "project", "color")
"""Settings of the process, which do not change an answer: the server's own, and those that a request carries."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer to a request.

    Attributes:
        status: The HTTP status.
        body: The body of the response.
    """

    status: int
    body: bytes


def describe(config: Config, version: str) -> dict[str, Any]:
    """Return what a command and a server must have in common: the version, the store and the settings."""
    settings = {
        setting.key: str(config.value(setting.key))
        for setting in SETTINGS
        if not setting.secret and not setting.key.startswith(_OWN_KEYS)
    }
    return {"version": version, "data_dir": os.path.realpath(config.data_dir), "settings": settings}


def delegate(
    config: Config, version: str, token_file: Path, operation: str, request: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Let the resident server carry out an operation that only reads.

    Args:
        config: The configuration of the command.
        version: The version of this program.
        token_file: The file with the token of the store.
        operation: The name of the operation.
        request: Its arguments, as JSON values.

    Returns:
        The result as JSON values; None if the command has to do the work itself.
    """
    if not config.server.delegate or not config.server.port:
        return None
    document = describe(config, version) | {"operation": operation, "request": request}
    try:
        token = token_file.read_text(encoding="ascii").strip()
        answer = post(config.server.host, config.server.port, PATH, json.dumps(document).encode(), token=token)
        result = json.loads(answer.body) if answer is not None and answer.status == _OK else None
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def post(
    host: str, port: int, path: str, body: bytes, *, token: str, seconds: float = _ANSWER_SECONDS, trusts: bool = False
) -> HttpAnswer | None:
    """Send a request to a server of this user, and wait for the answer for a short time.

    Args:
        host: The address of the server.
        port: Its port.
        path: The path of the request.
        body: JSON.
        token: The token of the store.
        seconds: Time for the answer.
        trusts: Whether to send the token also where the system does not tell the owner of a port, as the plugin does.

    Returns:
        None if no process of this user listens there, or if the answer is not complete.

    Raises:
        OSError: The server does not answer in time.
    """
    return _request(host, port, "POST", path, body, token=token, seconds=seconds, trusts=trusts)


def get(host: str, port: int, path: str, *, token: str) -> HttpAnswer | None:
    """Read a page of a server of this user, as ``post`` does."""
    return _request(host, port, "GET", path, b"", token=token)


def _request(
    host: str,
    port: int,
    method: str,
    path: str,
    body: bytes,
    *,
    token: str,
    seconds: float = _ANSWER_SECONDS,
    trusts: bool = False,
) -> HttpAnswer | None:
    connection = open_connection(host, port, trusts=trusts)
    if connection is None:
        return None
    with connection:
        connection.settimeout(seconds)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {format_address(host, port)}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode("latin-1") + body)
        return _parse(_read_all(connection))


def open_connection(host: str, port: int, *, trusts: bool = False) -> socket.socket | None:
    """Connect to a server of this user.

    Args:
        host: The address of the server.
        port: Its port.
        trusts: Whether to connect also where the system does not tell the owner of a port.

    Returns:
        None if a process of another user listens there.

    Raises:
        OSError: No process listens there.
    """
    connection = socket.create_connection((local_host(host), port), timeout=_CONNECT_SECONDS)
    # Another user could listen at this port. Send neither the token nor the question before the owner is known.
    is_unknown = trusts and sys.platform != "linux"
    if is_unknown or ((owner := _find_server_owner(connection)) is not None and owner == system().user_id()):
        return connection
    connection.close()
    return None


def _find_server_owner(connection: socket.socket) -> int | None:
    """Return the user whose process serves a connection; None if this system or the server does not show it in time.

    The kernel connects before the server accepts, and until then no process holds the server's end. It reports no event
    for that, so ask again for a short time.
    """
    if sys.platform != "linux":
        return None
    ends = connection.getsockname()[:2], connection.getpeername()[:2]
    until = time.monotonic() + _ACCEPT_SECONDS
    while (owner := find_owner(*ends)) is None and time.monotonic() < until:
        time.sleep(_PAUSE_SECONDS)
    return owner


def _read_all(connection: socket.socket) -> bytes:
    received = bytearray()
    while len(received) < _MOST_BYTES and (piece := connection.recv(_PIECE)):
        received += piece
    return bytes(received)


def _parse(response: bytes) -> HttpAnswer | None:
    """Parse a whole response; None if it is cut off or has another form than the server's."""
    head, separator, body = response.partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    words = line.split(b" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(b":") for field in fields)}
    if not separator or len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():  # noqa: PLR2004
        return None
    if headers.get(b"content-length") != b"%d" % len(body):
        return None
    return HttpAnswer(int(words[1]), body)
