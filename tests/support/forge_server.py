"""Stub of GitHub and GitLab on loopback. It speaks both wire formats and records its requests.

An item has an ETag, and a request with that ETag gets 304. A request without the token gets 401. Scripted replies come
first.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A scripted reply. With ``hangs`` the server sends nothing until it ends."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    hangs: bool = False


@dataclass(frozen=True)
class Received:
    """A request: its path as it was sent, and its headers with names in lower case."""

    path: str
    headers: dict[str, str]


class ForgeServer:
    """Serves items by their path in the API."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.items: dict[str, Any] = {}
        self.script: list[Reply] = []
        self._ended = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.received.append(Received(self.path, headers))
                reply = outer.script.pop(0) if outer.script else outer._answer(self.path, headers)
                self.close_connection = True
                if reply.hangs:
                    outer._ended.wait()
                    return
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except (BrokenPipeError, ConnectionResetError):
                    return  # The client refuses an answer that is too large.

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_port}"

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.received]

    def _answer(self, path: str, headers: dict[str, str]) -> Reply:
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply(status=401, body=b'{"message": "Bad credentials"}')
        if path not in self.items:
            return Reply(status=404, body=b'{"message": "Not Found"}')
        body = json.dumps(self.items[path]).encode()
        etag = f'W/"{hashlib.sha256(body).hexdigest()}"'
        if headers.get("if-none-match") == etag:
            return Reply(status=304, headers={"ETag": etag}, body=b"")
        return Reply(headers={"ETag": etag, "Content-Type": "application/json"}, body=body)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def github_issue(number: int = 12, title: str = "Login fails on Safari", **more: Any) -> dict[str, Any]:
    """Return an issue in the form of GitHub's REST API."""
    return {
        "id": 1,
        "number": number,
        "title": title,
        "state": "open",
        "labels": [{"id": 7, "name": "bug", "color": "f29513"}, {"id": 8, "name": "login"}],
        "user": {"login": "octocat", "id": 1},
        "body": "It fails.",
        **more,
    }


def gitlab_item(number: int = 12, title: str = "Login fails on Safari", **more: Any) -> dict[str, Any]:
    """Return an issue, a merge request or an epic in the form of GitLab's REST API."""
    return {
        "id": 76,
        "iid": number,
        "title": title,
        "state": "opened",
        "labels": ["bug", "login"],
        "author": {"id": 1, "username": "root", "name": "Administrator"},
        "description": "It fails.",
        **more,
    }
