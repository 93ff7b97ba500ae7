"""Client of OpenCode's API. Requests go through the plugin, because the terminal UI opens no port."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from opencode_memory.hosts.opencode.contract import OWN_TITLE, find_parent
from opencode_memory.server.plugin.json_rpc import RemoteError

_SECONDS: Final = 10.0
_FAILURES_FROM: Final = 400
_NOT_FOUND: Final = 404
_PAGE: Final = 100


class NotThereError(RemoteError):
    """OpenCode does not have the requested object."""


class Requester(Protocol):
    """Sends requests to a plugin."""

    async def ask(self, method: str, params: Any, *, seconds: float) -> Any:
        """Ask and return the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Facts of a session that never change.

    Attributes:
        parent: The session whose agent started this one; None if the user started it.
        is_ours: Whether opencode-memory started it for itself.
    """

    parent: str | None = None
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class OpenCode:
    """One instance of OpenCode."""

    plugin: Requester

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = _SECONDS,
    ) -> Any:
        """Call a route of OpenCode's API and return the answer.

        Raises:
            NotThereError: OpenCode answers that the object does not exist.
            RemoteError: OpenCode answers with another error, or not in time.
        """
        params = {"method": method, "path": path, "query": dict(query or {}), "body": body}
        answer = await self.plugin.ask("oc.request", params, seconds=seconds)
        match answer:
            case {"status": int(status), "body": str(written)} if status < _FAILURES_FROM:
                try:
                    return json.loads(written) if written else None
                except ValueError as error:
                    raise RemoteError(f"{method} {path} was not answered with JSON", path=path) from error
            case {"status": int(status)}:
                kind = NotThereError if status == _NOT_FOUND else RemoteError
                raise kind(f"{method} {path} was answered with {status}", path=path)
        raise RemoteError(f"{method} {path} was answered in an unknown form", path=path)

    async def get_facts(self, session: str, *, seconds: float) -> SessionFacts:
        """Return the facts of a session."""
        found = await self.request("GET", session_path(session), seconds=seconds)
        return _parse_facts(found) or SessionFacts()

    async def last_summary(self, session: str, *, seconds: float) -> str | None:
        """Return the text of a session's last summary; None if the session was never compacted."""
        for message in reversed(await self.list_messages(session, seconds=seconds)):
            match message:
                case {"info": {"summary": True, "role": "assistant"}, "parts": list(parts)}:
                    return "\n".join(find_texts(parts)) or None
        return None

    async def list_messages(self, session: str, *, seconds: float = _SECONDS) -> list[Any]:
        """Return the messages of a session in OpenCode's form: ``info`` and ``parts`` of each."""
        messages = await self.request("GET", session_path(session, "message"), seconds=seconds)
        return messages if isinstance(messages, list) else []

    async def list_latest_messages(self, session: str, *, most: int, seconds: float = _SECONDS) -> list[Any]:
        """Return the last messages of a session in pages, because one answer with all of them may be too large.

        Args:
            session: Its id.
            most: Number of messages after which older pages are left out.
            seconds: Limit for each page.
        """
        found: list[Any] = []
        query: dict[str, str] | None = {"limit": str(_PAGE)}
        while query is not None and len(found) < most:
            try:
                page = await self.request("GET", session_path(session, "message"), query=query, seconds=seconds)
            except RemoteError:
                if not found:
                    raise
                break  # Another version of OpenCode has other cursors. The last messages are enough.
            page = page if isinstance(page, list) else []
            found = [*page, *found]
            query = _render_cursor(page[0]) if len(page) == _PAGE else None
        return found

    async def find_active(self, *, seconds: float = _SECONDS) -> dict[str, Mapping[str, Any]]:
        """Return the state of each session in this folder that is not idle, by the session's id."""
        found = await self.request("GET", "/session/status", seconds=seconds)
        active = found.items() if isinstance(found, Mapping) else ()
        return {id_: state for id_, state in active if isinstance(state, Mapping) and state.get("type") != "idle"}

    async def find_mcp_status(self, name: str, *, seconds: float) -> str | None:
        """Return OpenCode's status of an MCP server, for example ``connected``; None if it has no such server."""
        found = await self.request("GET", "/mcp", seconds=seconds)
        known = found.get(name) if isinstance(found, Mapping) else None
        return str(known.get("status")) if isinstance(known, Mapping) else None

    async def connect_mcp(self, name: str, *, seconds: float) -> None:
        """Connect OpenCode to an MCP server, also to one that is disabled."""
        await self.request("POST", f"/mcp/{name}/connect", seconds=seconds)

    async def toast(self, message: str, *, variant: str = "info", seconds: float = _SECONDS) -> None:
        """Show a line to the user, if OpenCode has a screen."""
        params = {"title": "opencode-memory", "message": message, "variant": variant}
        await self.plugin.ask("toast", params, seconds=seconds)


def _render_cursor(message: Any) -> dict[str, str] | None:
    """Return the query for the page before a message; None if the message has no time."""
    match message:
        case {"info": {"id": str(id_), "time": {"created": int(created)}}}:
            place = json.dumps({"id": id_, "time": created}, separators=(",", ":"))
            return {"limit": str(_PAGE), "before": urlsafe_b64encode(place.encode()).decode().rstrip("=")}
    return None


def session_path(session: str, *more: str) -> str:
    """Return the path of a session in OpenCode's API, or of a route below it."""
    return "/".join(("/session", quote(session, safe=""), *more))


def find_texts(parts: list[Any]) -> Iterator[str]:
    """Yield the texts of a message's parts."""
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                yield text


def find_facts(params: Any) -> Iterator[tuple[str, SessionFacts]]:
    """Yield the sessions that an ``events`` notification announces, with their facts."""
    events = params.get("events") if isinstance(params, Mapping) else None
    for event in events if isinstance(events, list) else ():
        match event:
            case {"type": "session.created" | "session.updated", "properties": {"info": {"id": str(id_)} as info}}:
                if (facts := _parse_facts(info)) is not None:
                    yield id_, facts


def drop_sessions(params: Any, is_dropped: Callable[[str], bool]) -> Any:
    """Return the parameters of an ``events`` notification without the events of some sessions."""
    events = params.get("events") if isinstance(params, Mapping) else None
    if not isinstance(events, list):
        return params
    kept = [event for event in events if (session := _find_session(event)) is None or not is_dropped(session)]
    return params if len(kept) == len(events) else {**params, "events": kept}


def has_user_message(params: Any) -> bool:
    """Return whether an ``events`` notification has a message of the user."""
    events = params.get("events") if isinstance(params, Mapping) else None
    return any(_is_user_message(event) for event in (events if isinstance(events, list) else ()))


def _is_user_message(event: Any) -> bool:
    match event:
        case {"type": "message.updated", "properties": {"info": {"role": "user"}}}:
            return True
    return False


def _find_session(event: Any) -> str | None:
    match event:
        case {"properties": {"sessionID": str(session)}}:
            return session
        case {"properties": {"info": {"sessionID": str(session)}} | {"part": {"sessionID": str(session)}}}:
            return session
        case {"type": str(kind), "properties": {"info": {"id": str(session)}}} if kind.startswith("session."):
            return session
    return None


def _parse_facts(info: Any) -> SessionFacts | None:
    """Parse OpenCode's description of a session; None if it is not one."""
    if not isinstance(info, Mapping) or not isinstance(info.get("id"), str):
        return None
    parent = info.get("parentID")
    title = str(info.get("title", ""))
    return SessionFacts(
        parent=find_parent(title, parent if isinstance(parent, str) else None), is_ours=title.startswith(OWN_TITLE)
    )
