"""``/mcp``: MCP over streamable HTTP, for clients with and without sessions at the same URL.

A request that starts a session or belongs to one goes to the SDK's session manager. Any other request is handled
statelessly. So clients that ignore session ids also work, and clients that have dropped an expired session id.

A session that this server adopted from the one that it replaced is handled statelessly. Its folders are those that the
other one knew.

Calls of reading tools are answered directly (``direct_calls``). A session's first request, and one each minute, goes to
the SDK nevertheless, so that the SDK's timeout of idle sessions sees that the session is in use. While the SDK is
still being imported (``late_sdk``), all other requests wait for it.
"""

from __future__ import annotations

import json
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse

from opencode_memory.server.client_project import HEADER, SESSION_HEADER, Described
from opencode_memory.server.direct_calls import DirectCalls
from opencode_memory.server.in_flight import InFlight
from opencode_memory.server.request_ids import refuse_invalid_id
from opencode_memory.text.json_values import escape_separators

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from opencode_memory.server.late_sdk import LateSdk
    from opencode_memory.server.tool_calls import ToolCalls

_MOST_SESSIONS: Final = 10_000
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NO_STREAM: Final = 405
_FAILURES_FROM: Final = 400
_HEADER: Final = SESSION_HEADER.encode()
_DIRECTORY: Final = HEADER.encode()
_NEVER: Final = -math.inf
_SDK_PERIOD_SECONDS: Final = 60.0
"""Far below the SDK's timeout of idle sessions, 30 minutes."""


class McpEndpoint:
    """The ASGI app of ``/mcp``.

    Args:
        calls: The tools that the endpoint offers.
        sdk: Handles the requests that are not answered here.
        adopted: The sessions of the server that this one replaces.
    """

    def __init__(self, calls: ToolCalls, sdk: LateSdk, adopted: Described = MappingProxyType({})) -> None:
        self._sdk = sdk
        self._direct = DirectCalls(calls)
        self._projects = calls.projects
        self._projects.adopt(adopted)
        self._adopted = self._projects.adopted
        # The time of the last request that the SDK accepted, oldest first; a session has none before its first request.
        self._sessions: OrderedDict[str, float] = OrderedDict()
        self._in_flight = InFlight()
        self._draining = False

    async def drain(self) -> None:
        """Refuse new requests, and wait until running requests are answered."""
        self._draining = True
        await self._in_flight.wait_idle()

    def describe_sessions(self) -> Described:
        """Return the sessions and what is known of their folders, for a server that replaces this one."""
        return self._projects.describe(self._sessions)

    def knows(self, session: str) -> bool:
        """Check whether a session was started or adopted here and is not known to have ended."""
        return session in self._sessions or session in self._adopted

    @property
    def sessions(self) -> int:
        """The number of known sessions."""
        return len(self._sessions) + len(self._adopted)

    async def wait_complete(self) -> bool:
        """Wait until no request has to wait for the import of the SDK. Return whether the SDK can be used."""
        return await self._sdk.wait_built()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the block ends."""
        async with self._sdk.running():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it with 503 if the server is shutting down."""
        if scope["method"] != "POST":
            # Do not count GET streams of server messages as running requests: they never end by themselves.
            await self._answer(scope, receive, send)
            return
        if self._draining:
            body = {"error": "the server is shutting down", "hint": "try again"}
            await JSONResponse(body, status_code=503, headers={"retry-after": "1"})(scope, receive, send)
            return
        with self._in_flight.one():
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = _session_of(scope["headers"])
        is_stateless = False
        if session is not None and session in self._adopted and scope["method"] != "POST":
            await self._answer_adopted(scope, receive, send, session)
            return
        if scope["method"] == "POST":
            body, receive = await _read_body(receive)
            if self._may_answer(session) and (call := self._direct.parse(scope["headers"], body)) is not None:
                await self._direct.answer(call, send)
                return
            if (refusal := refuse_invalid_id(body)) is not None:
                await JSONResponse(refusal, status_code=_BAD_REQUEST)(scope, receive, send)
                return
            self._check_adopted(session, scope["headers"], body)
            is_stateless = session in self._adopted or (session is None and not _is_initialize(body))
        watch = self._track_sessions(_escape_events(send), session, scope["method"] == "DELETE")
        await self._sdk.handle(scope, receive, watch, stateless=is_stateless)

    def _check_adopted(self, session: str | None, headers: Any, body: bytes) -> None:
        """Drop an adopted session whose folders are not known or have changed.

        The SDK does not know the session and refuses it. Then the client starts a new one, and lists its roots.
        """
        if session is None or session not in self._adopted:
            return
        is_unknown = self._adopted[session] is None and all(name.lower() != _DIRECTORY for name, _ in headers)
        if is_unknown or b"roots/list_changed" in body:
            self._adopted.pop(session)

    async def _answer_adopted(self, scope: Scope, receive: Receive, send: Send, session: str) -> None:
        """End an adopted session, or say that it has no stream for messages of the server."""
        if scope["method"] == "DELETE":
            self._adopted.pop(session)
            await JSONResponse({})(scope, receive, send)
            return
        body = {"error": "this session has no stream", "hint": "a stream needs a new session"}
        await JSONResponse(body, status_code=_NO_STREAM, headers={"allow": "POST, DELETE"})(scope, receive, send)

    def _may_answer(self, session: str | None) -> bool:
        """Check whether the SDK has seen the session lately. Only a session that it started needs the SDK."""
        return (
            session is None
            or session in self._adopted
            or time.monotonic() - self._sessions.get(session, _NEVER) < _SDK_PERIOD_SECONDS
        )

    def _track_sessions(self, send: Send, session: str | None, ends: bool) -> Send:
        """Wrap ``send`` so that responses update the set of known sessions."""
        begun: str | None = None

        async def watch(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                failed = message["status"] >= _FAILURES_FROM
                if session is not None and (message["status"] == _NOT_FOUND or (ends and not failed)):
                    self._sessions.pop(session, None)
                elif session is not None and session in self._sessions and not failed:
                    self._sessions[session] = time.monotonic()
                    self._sessions.move_to_end(session)
                elif session is None and not failed:
                    begun = _session_of(message.get("headers", ()))
            elif begun is not None and b'"result"' in message.get("body", b""):
                # A refused `initialize` also has a session id, but an error instead of a result.
                self._sessions[begun] = _NEVER
                while len(self._sessions) > _MOST_SESSIONS:
                    self._sessions.popitem(last=False)
                begun = None
            await send(message)

        return watch


def _escape_events(send: Send) -> Send:
    """Wrap ``send`` so that streams of events have no line separators in their data.

    A response with a length is one document, which its client does not split into lines.
    """
    is_stream = False

    async def escape(message: Message) -> None:
        nonlocal is_stream
        if message["type"] == "http.response.start":
            is_stream = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
        elif is_stream and message.get("body"):
            text = message["body"].decode(errors="surrogateescape")
            message["body"] = escape_separators(text).encode(errors="surrogateescape")
        await send(message)

    return escape


def _session_of(headers: Any) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == _HEADER), None)


async def _read_body(receive: Receive) -> tuple[bytes, Receive]:
    """Read a whole body, whose size the guards have limited, and return it with a ``receive`` that replays it."""
    messages: list[MutableMapping[str, Any]] = []
    body = b""
    more = True
    while more:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
    waiting = iter(messages)

    async def receive_again() -> MutableMapping[str, Any]:
        return next(waiting, None) or await receive()

    return body, receive_again


def _is_initialize(body: bytes) -> bool:
    if b"initialize" not in body:
        return False
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("method") == "initialize"
