"""Embedding server on loopback that speaks the OpenAI format, records its requests and fails on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.embedders import WordEmbedder

MODEL = "words-embed"


@dataclass(frozen=True)
class Reply:
    """A reply; without a body the server computes the vectors."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], Any] = lambda answer: answer
    body: bytes | None = None


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class EmbeddingServer:
    """Serves one reply of the script for each request, and then vectors that count words.

    ``count`` returns the tokens of a request that the server reports; None if it reports none.
    """

    def __init__(
        self, *script: Reply, dimension: int = 64, count: Callable[[Sequence[str]], int | None] = lambda _texts: 8
    ) -> None:
        self.count = count
        self.received: list[Received] = []
        self.script = list(script)
        self._embedder = WordEmbedder(dimension=dimension)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.received.append(Received(self.path, dict(self.headers), request))
                reply = outer.script.pop(0) if outer.script else Reply()
                body = json.dumps(reply.change(outer._answer(request))).encode() if reply.body is None else reply.body
                self.send_response(reply.status)
                for name, value in {**reply.headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def inputs(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for request in self.received for text in request.body["input"]]

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        vectors = self._embedder.embed(request["input"])
        data = [
            {"object": "embedding", "index": index, "embedding": [2 * float(value) for value in vector]}
            for index, vector in enumerate(vectors)
        ]
        tokens = self.count(request["input"])
        usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
        return {"object": "list", "data": data, "model": request["model"], **usage}

    def stop(self) -> None:
        """Close the port, so that connections are refused."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
