"""A scripted language model: an OpenAI-compatible server on loopback that records its requests.

OpenCode talks to it as to any provider. It answers the turns of a session from a script, one call of a tool or one text
each, and keeps what it was asked, so that a test sees what a model would have seen. OpenCode's requests for a title and
for a summary, which have no tools, are answered beside the script. So are the requests of our own digests.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opencode_memory.hosts.opencode.agents import HIDDEN
from opencode_memory.hosts.opencode.contract import DIGEST_AGENT


@dataclass(frozen=True)
class Halting:
    """A text that halts in the middle of its stream.

    Attributes:
        text: What is streamed before.
        halt: Is called in the middle; the stream ends when it returns.
    """

    text: str
    halt: Callable[[], object]


Said = str | tuple[str, dict[str, Any]] | Halting
Turn = Said | Callable[[], Said]
"""Next step of the model: a text, a call of a tool by name with arguments, or a function that returns one."""
END = "The script has ended."
SUMMARY = "We worked on the shop. What is open: nothing."
"""Answer to a request for a summary."""


@dataclass(frozen=True)
class Request:
    """A request to the model."""

    body: dict[str, Any]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it was offered."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(self._texts("system"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages without the system prompt."""
        return [message for message in self.body["messages"] if message["role"] != "system"]

    @property
    def users(self) -> list[str]:
        """Texts of the user's messages."""
        return self._texts("user")

    @property
    def user_parts(self) -> list[str]:
        """The same, part by part."""
        contents = [message["content"] for message in self.body["messages"] if message["role"] == "user"]
        return [
            part
            for content in contents
            for part in ([content] if isinstance(content, str) else [member["text"] for member in content])
        ]

    @property
    def systems(self) -> int:
        """How many messages of the system there are."""
        return sum(message["role"] == "system" for message in self.body["messages"])

    @property
    def wants_summary(self) -> bool:
        """Whether it asks for a summary of a session."""
        return "summarization" in self.system

    @property
    def wants_digest(self) -> bool:
        """Whether our hidden agent asks for the digest of a session."""
        return self.system.startswith(HIDDEN[DIGEST_AGENT]["prompt"])

    @property
    def tool_results(self) -> list[str]:
        """Results of the tool calls so far."""
        return self._texts("tool")

    def _texts(self, role: str) -> list[str]:
        return [_text(message["content"]) for message in self.body["messages"] if message["role"] == role]


class ScriptedModel:
    """Serves from ``with`` on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: deque[Turn] = deque()
        self._requests: list[Request] = []
        self._asides: list[Request] = []
        self._digests: list[Request] = []
        self._digest: Callable[[Request], str | int] = lambda _: "{}"
        self._costs: dict[str, int] = {}
        self._answer: Callable[[Request], Said] | None = None
        self.summary = SUMMARY
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        # Connections that OpenCode keeps open must not keep the test from ending.
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Configuration of a provider with this model."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, *turns: Turn) -> None:
        """Set the next steps and forget the earlier requests."""
        with self._lock:
            self._turns = deque(turns)
            self._requests = []
            self._asides = []

    def script_by_request(self, answer: Callable[[Request], Said]) -> None:
        """Answer each turn by its request, for sessions that run at the same time."""
        self._answer = answer

    @property
    def requests(self) -> list[Request]:
        """The turns of the session since ``script``, without the request for a title."""
        with self._lock:
            return list(self._requests)

    @property
    def asides(self) -> list[Request]:
        """The requests for titles and summaries since ``script``."""
        with self._lock:
            return list(self._asides)

    def script_digest(self, answer: Callable[[Request], str | int]) -> None:
        """Set the answer to requests for a digest, a text or an HTTP status, and forget the earlier requests."""
        with self._lock:
            self._digest = answer
            self._digests = []

    @property
    def digests(self) -> list[Request]:
        """The requests for a digest since ``script_digest``."""
        with self._lock:
            return list(self._digests)

    def cost(self, said: str, tokens: int) -> None:
        """Have a text cost so many tokens: enough of them, and OpenCode compacts the session by itself."""
        self._costs[said] = tokens

    def cost_of(self, said: Said) -> int:
        """Return the costs of a turn."""
        return self._costs.get(said, 1) if isinstance(said, str) else 1

    def take(self, request: Request) -> Said | int:
        """Record a request and return the step that answers it, or the status of a failure."""
        if request.wants_digest:
            with self._lock:
                self._digests.append(request)
                answer = self._digest
            return answer(request)
        with self._lock:
            if not request.tools:
                self._asides.append(request)
                return self.summary if request.wants_summary else "A title"
            self._requests.append(request)
            by_request = self._answer
            turn = self._turns.popleft() if self._turns else END
        if by_request is not None:
            return by_request(request)
        return turn() if callable(turn) else turn


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            turn = model.take(Request(body))
            # Unique within a session, which only grows.
            call = f"call_{len(body['messages'])}"
            if isinstance(turn, int):
                self.send_response(turn)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for chunk in _chunks(turn, call, model.cost_of(turn)):
                self.wfile.write(f"data: {chunk}\n\n".encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _chunks(turn: Said, call: str, tokens: int) -> Iterator[str]:
    """Yield the chunks of a streamed answer: role, text or call, reason of the end, and usage."""
    if isinstance(turn, Halting):
        for delta in ({"role": "assistant", "content": ""}, {"content": turn.text}):
            yield _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        turn.halt()
        return
    if isinstance(turn, str):
        said: dict[str, Any] = {"content": turn}
        reason = "stop"
    else:
        name, arguments = turn
        function = {"name": name, "arguments": json.dumps(arguments)}
        said = {"tool_calls": [{"index": 0, "id": call, "type": "function", "function": function}]}
        reason = "tool_calls"
    for delta, finish in (({"role": "assistant", "content": ""}, None), (said, None), ({}, reason)):
        yield _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])
    yield _chunk(choices=[], usage={"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1})
    yield "[DONE]"


def _chunk(**content: Any) -> str:
    return json.dumps({"id": "turn", "object": "chat.completion.chunk", "created": 0, "model": "scripted", **content})


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
