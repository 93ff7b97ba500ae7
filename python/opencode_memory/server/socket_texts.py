"""Reads the texts of a WebSocket, from plugins and from processes of ``serve --stdio``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.websockets import WebSocket


async def read_texts(socket: WebSocket) -> AsyncIterator[str]:
    """Yield texts until the client disconnects, or sends bytes, which no client of ours does.

    Texts that the client sent before an answer failed to reach it are read, too. ``WebSocket.receive_text`` would raise
    an error instead.
    """
    while (text := (await socket.receive()).get("text")) is not None:
        yield text
