"""Scripted chat-completions server on loopback that records its requests."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "small:3b"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply. ``raw`` replaces the whole response, including the status line.

    With ``hangs`` the server stops after it until the server ends; with ``drips`` it sends a blank now and then.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    raw: bytes | None = None
    hangs: bool = False
    drips: bool = False


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    text: str

    @property
    def sent(self) -> dict[str, Any]:
        """Return the session that the request is about."""
        return json.loads(self.body["messages"][1]["content"])


class ModelServer:
    """Serves one reply for each request in order, and then repeats the last one."""

    def __init__(self, *script: Reply) -> None:
        self.received: list[Received] = []
        self._script = list(script)
        self._ended = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.received.append(Received(self.path, dict(self.headers), json.loads(text), text))
                reply = outer._script.pop(0) if len(outer._script) > 1 else outer._script[0]
                self.close_connection = True
                try:
                    self._say(reply)
                except (BrokenPipeError, ConnectionResetError):
                    return  # The client closed the connection, which some tests provoke.

            def _say(self, reply: Reply) -> None:
                if reply.raw is not None:
                    self.wfile.write(reply.raw)
                elif not reply.hangs:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    if not reply.drips:
                        self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                while reply.drips and not outer._ended.wait(0.01):
                    self.wfile.write(b" ")
                if reply.hangs:
                    outer._ended.wait()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def item(kind: str, text: str, quote: str, message: Any = None, supersedes: Any = None) -> dict[str, Any]:
    """Return an item as a model writes it."""
    return {"kind": kind, "text": text, "quote": quote, "message": message, "supersedes": supersedes}


def says(text: str | None, *, tokens: Any = 100, finish_reason: str = "stop", **message: Any) -> Reply:
    """Return a completion with a text."""
    answer: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
        ],
    }
    if tokens is not None:
        answer["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": tokens}
    return Reply(body=json.dumps(answer).encode())


def digests(*items: Any, summary: Any = None, **more: Any) -> Reply:
    """Return a completion with items."""
    answer = {"items": list(items), "summary": summary or {"done": "", "decided": "", "open": ""}}
    return says(json.dumps(answer), **more)


def refuses(status: int, message: str = "", **headers: str) -> Reply:
    """Return an error in the format of OpenAI."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=named, body=json.dumps({"error": {"message": message}}).encode())
