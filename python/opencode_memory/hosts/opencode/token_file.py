"""Token file of the plugin: creates it before OpenCode starts, and checks whether a server accepts the token.

The plugin passes the token to OpenCode once, when OpenCode starts. If the first server created the file, it would be
too late for the OpenCode that started this server: its tools would be refused until the next start.
"""

from __future__ import annotations

import base64
import secrets
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from opencode_memory.config.paths import APPLICATION
from opencode_memory.errors import StorageError
from opencode_memory.files.atomic import write_atomically
from opencode_memory.hosts.opencode.contract import TOKEN_FILE
from opencode_memory.platform import system

_SWITCHING: Final = 101
_REFUSED: Final = frozenset({401, 403})


def token_file(data_dir: Path) -> Path:
    """Return the path of a store's token file."""
    return data_dir / TOKEN_FILE


def create_token(data_dir: Path) -> Path | None:
    """Create the token file with a random token, unless it exists.

    Returns:
        The path of the new file; None if the file already existed.

    Raises:
        StorageError: The file cannot be written.
    """
    file = token_file(data_dir)
    try:
        if file.exists() and file.stat().st_size:
            return None
        system().make_folder(data_dir)
        write_atomically(file, secrets.token_urlsafe(32).encode())
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}", path=str(file)) from error
    return file


def remove_token(data_dir: Path) -> Path | None:
    """Remove the token file if its folder holds no other file, so that no server ever ran there.

    Returns:
        The path of the removed file; None if it stays.
    """
    file = token_file(data_dir)
    try:
        if [child.name for child in data_dir.iterdir()] != [TOKEN_FILE]:
            return None
        file.unlink()
    except OSError:
        return None
    with suppress(OSError):
        data_dir.rmdir()
        if data_dir.parent.name == APPLICATION:
            data_dir.parent.rmdir()
    return file


def accepts_token(url: str, token: str, *, timeout_seconds: float = 2.0) -> bool | None:
    """Return whether a server accepts a plugin with this token; None if the server gives no clear answer.

    Args:
        url: Address of the server, as in the manifest.
        token: Content of the token file.
        timeout_seconds: Time limit of each step.
    """
    address = urlsplit(url)
    headers = {
        "Authorization": f"Bearer {token}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
    }
    connection = HTTPConnection(address.hostname or "", address.port or 80, timeout=timeout_seconds)
    try:
        connection.request("GET", "/bridge", headers=headers)
        status = connection.getresponse().status
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return True if status == _SWITCHING else False if status in _REFUSED else None
