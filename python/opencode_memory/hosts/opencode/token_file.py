"""The file with the key that OpenCode's plugin shows: laid before OpenCode starts, and shown to a server as a check.

The plugin gives OpenCode the key once, at its start. A file that only the first server made would come too late for the
OpenCode that had it started, and its tools would be refused until the next start.
"""

from __future__ import annotations

import base64
import os
import secrets
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from opencode_memory.config.paths import APPLICATION
from opencode_memory.errors import StorageError
from opencode_memory.hosts.opencode.contract import TOKEN_FILE

_SWITCHING: Final = 101
_REFUSED: Final = frozenset({401, 403})


def token_file(data_dir: Path) -> Path:
    """Return where the key of a store is."""
    return data_dir / TOKEN_FILE


def lay_token(data_dir: Path) -> Path | None:
    """Have the file in the folder of the store, with a key that nobody else knows; returns it when it was missing.

    Raises:
        StorageError: It cannot be written.
    """
    file = token_file(data_dir)
    try:
        if file.exists() and file.stat().st_size:
            return None
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = file.with_name(f"{file.name}.{os.getpid()}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(secrets.token_urlsafe(32))
        aside.replace(file)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror or error}", path=str(file)) from error
    return file


def take_token(data_dir: Path) -> Path | None:
    """Remove the file where there is nothing beside it, so no server and no memory ever; returns it when it is gone."""
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


def lets_in(url: str, token: str, *, timeout_seconds: float = 2.0) -> bool | None:
    """Say whether a server lets a plugin in that shows this key; None when it does not say.

    Args:
        url: The server, as in the manifest.
        token: What is in the file.
        timeout_seconds: How long each step may take.
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
