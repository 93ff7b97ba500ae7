"""Direct answers to ``tools/call``, without the streams that the SDK builds for each request.

The SDK answers with a stream of events and starts several tasks for it, because a tool may send messages of its own
while it runs. A tool that reads sends none and ends soon. Its result is one JSON document, which the protocol allows
for every request. Requests with any unusual part are left to the SDK, which reports what is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from opencode_memory.errors import InvalidInputError
from opencode_memory.server.client_project import HEADER, SESSION_HEADER
from opencode_memory.text.json_values import escape_separators

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Send

    from opencode_memory.server.tool_calls import ToolCalls
    from opencode_memory.server.toolbox import Tool, ToolOutcome

_VERSIONS: Final = frozenset({b"2025-06-18", b"2025-11-25"})
"""Versions of the protocol whose results have this module's form."""
_DIRECTORY: Final = HEADER.encode()
_SESSION: Final = SESSION_HEADER.encode()
_PARAMETERS: Final = frozenset({"name", "arguments", "_meta"})
_OWN_META: Final = frozenset({"progressToken"})


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A request that can be answered directly.

    Attributes:
        id: The id of the request, a text or a number.
        tool: The tool to call.
        arguments: Its arguments as the client sent them.
        folders: The folders of the client.
        session: The session of the request, if any.
    """

    id: int | str
    tool: Tool
    arguments: Mapping[str, Any]
    folders: tuple[Path, ...]
    session: bytes | None


class DirectCalls:
    """Recognises and answers the requests that need no stream.

    Args:
        calls: The tools of the server.
    """

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls

    def parse(self, fields: Sequence[tuple[bytes, bytes]], body: bytes) -> DirectCall | None:
        """Return the call of a request; None if the SDK has to handle the request.

        Args:
            fields: The headers of the request, with names in lower case.
            body: The body of the request.
        """
        headers = dict(fields)
        if b'"tools/call"' not in body or len(headers) < len(fields) or not _has_usual_headers(headers):
            return None
        try:
            message = from_json(body)
        except ValueError:
            return None
        if not isinstance(message, dict) or message.keys() != {"jsonrpc", "id", "method", "params"}:
            return None
        id_, parameters = message["id"], message["params"]
        if message["jsonrpc"] != "2.0" or message["method"] != "tools/call" or type(id_) not in (int, str):
            return None
        if not _has_usual_parameters(parameters):
            return None
        tool = self._calls.tools.get(parameters["name"])
        if tool is None or not tool.reads or tool.reaches_out:
            return None
        folders = self._find_folders(headers)
        if folders is None:
            return None
        return DirectCall(id_, tool, parameters.get("arguments") or {}, folders, headers.get(_SESSION))

    async def answer(self, call: DirectCall, send: Send) -> None:
        """Run the tool and send its result."""
        outcome = await self._calls.run(call.tool, call.arguments, call.folders)
        body = _encode(call.id, outcome)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if call.session is not None:
            headers.append((_SESSION, call.session))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _find_folders(self, headers: Mapping[bytes, bytes]) -> tuple[Path, ...] | None:
        directory, session = headers.get(_DIRECTORY), headers.get(_SESSION)
        try:
            return self._calls.projects.known_folders(
                None if directory is None else directory.decode("latin-1"),
                None if session is None else session.decode("latin-1"),
            )
        except InvalidInputError:
            return None


def _has_usual_headers(headers: Mapping[bytes, bytes]) -> bool:
    accepted = headers.get(b"accept", b"")
    return (
        headers.get(b"mcp-protocol-version") in _VERSIONS
        and headers.get(b"content-type", b"").partition(b";")[0].strip() == b"application/json"
        and b"application/json" in accepted
        and b"text/event-stream" in accepted
    )


def _has_usual_parameters(parameters: Any) -> bool:
    if not isinstance(parameters, dict) or not parameters.keys() <= _PARAMETERS:
        return False
    meta = parameters.get("_meta")
    return (
        isinstance(parameters.get("name"), str)
        and isinstance(parameters.get("arguments", {}), dict)
        and (meta is None or (isinstance(meta, dict) and meta.keys() <= _OWN_META))
    )


def _encode(id_: int | str, outcome: ToolOutcome) -> bytes:
    """Encode the response to a request, with the members that the SDK would send."""
    text = json.dumps(outcome.text, ensure_ascii=False)
    content = f'[{{"type":"text","text":{text}}}]'
    data = "" if outcome.is_error else f',"structuredContent":{outcome.encoded}'
    is_error = "true" if outcome.is_error else "false"
    result = f'{{"content":{content}{data},"isError":{is_error}}}'
    return escape_separators(f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"result":{result}}}').encode()
