"""A real HTTP server on a loopback port, in a thread of the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Self

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    PROTOCOLS = [pytest.param(H11Protocol, id="h11")]
else:
    PROTOCOLS = [pytest.param(H11Protocol, id="h11"), pytest.param(HttpToolsProtocol, id="httptools")]


class HttpServer:
    """Serves an app inside ``with``. Clients that connect before are served when it starts."""

    def __init__(self, app: Any, protocol: type[asyncio.Protocol], *, ws: Any = "none") -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        config = uvicorn.Config(
            app, http=protocol, loop="asyncio", lifespan="off", ws=ws, log_config=None, proxy_headers=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.listener]})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self.listener.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=60)


def read_response(client: socket.socket) -> tuple[bytes, bytes]:
    """Read until the server closes, and return the head and the body of its response."""
    said = b""
    while piece := client.recv(65536):
        said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    return head, body
