"""Port of the server, and who may connect to it.

The port is bound before the server loads its modules, so that clients connect early and wait for the first answer.
"""

from __future__ import annotations

import errno
import logging
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opencode_memory.errors import ConflictError, InvalidInputError, StorageError
from opencode_memory.files import access
from opencode_memory.hosts.opencode.token_file import create_token, token_file
from opencode_memory.http_client.address import names_loopback
from opencode_memory.platform import system
from opencode_memory.resident.peer_owner import supports_owner_check
from opencode_memory.service.port_holder import explain_holder, find_port_holder, hint_for_holder

BACKLOG: Final = 256
"""Connections that may wait until the server accepts them."""

_log: Final = logging.getLogger(__name__)


def bind(host: str, port: int) -> socket.socket:
    """Bind a port and listen on it.

    Args:
        host: An address or a host name.
        port: The port; 0 for any free port.

    Raises:
        ConflictError: Another process holds the port; the message names the process.
        InvalidInputError: This machine has no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidInputError(f"server.host: cannot resolve {host!r}: {error}", field="server.host") from error
    try:
        # Without this option, a port of a server that has just ended cannot be bound for some time.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno != errno.EADDRINUSE:
            raise InvalidInputError(
                f"server.host: cannot bind {host}:{port}: {error.strerror}", field="server.host"
            ) from error
        raise _port_conflict(host, port) from error
    return listening


def _port_conflict(host: str, port: int) -> ConflictError:
    holder = find_port_holder(host, port)
    if holder is None:
        error = ConflictError(f"port {port} of {host} is already in use")
        error.hint = "choose another port with --port"
        return error
    error = ConflictError(explain_holder(holder, host, port))
    error.hint = hint_for_holder(holder, port)
    return error


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials and the user that the server accepts.

    Attributes:
        key: The API key that every request must carry; None if no key is required.
        uid: The user whose local processes may connect; None if this system cannot determine the owner of a connection.
        token: The content of a file that only the user can read. OpenCode's plugin sends it. It is valid like the key.
    """

    key: str | None
    uid: int | None
    token: str


def decide_access(host: str, configured: str | None, data_dir: Path) -> Access:
    """Decide who may connect: clients with the key, and among local users only this one.

    On systems that cannot determine the owner of a connection, the token is the key if none is configured.

    Args:
        host: The address that the server binds.
        configured: ``server.api_key``.
        data_dir: The folder of the token file.

    Raises:
        InvalidInputError: Other machines could reach the server, and no key is configured.
    """
    uid = system().user_id() if supports_owner_check() else None
    if configured is not None:
        return Access(configured, uid, _ensure_token(data_dir))
    if not names_loopback(host):
        error = InvalidInputError(
            f"server.host: other machines can reach {host}, and no API key is configured", field="server.host"
        )
        error.hint = "set server.api_key (or OPENCODE_MEMORY_API_KEY), or bind 127.0.0.1"
        raise error
    token = _ensure_token(data_dir, is_key=uid is None)
    return Access(None, uid, token) if uid is not None else Access(token, None, token)


def _ensure_token(data_dir: Path, *, is_key: bool = False) -> str:
    """Return the token from a file that only its owner can read. Create the file if it does not exist.

    Without write access to the folder and without a file, the token is random and the plugin cannot connect. Other
    clients can, unless the token is their key.
    """
    file = token_file(data_dir)
    if not is_key and not file.exists() and not access.is_writable(data_dir):
        _log.warning("OpenCode's plugin cannot connect: %s is missing and cannot be written", file)
        return secrets.token_urlsafe(32)
    create_token(data_dir)
    return _read_token(file)


def _read_token(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"cannot read {file}: {error}", path=str(file)) from error
