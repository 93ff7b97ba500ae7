"""Live feed: assembles complete messages from the events of OpenCode's bus that the plugin forwards. Does no I/O.

The plugin sends JSON-RPC notifications, in the order in which OpenCode published the events:

    {"jsonrpc": "2.0", "method": "events", "params": {"directory": "/home/ann/shop", "events": [
        {"type": "message.updated", "properties": {"sessionID": "ses_…", "info": {"id": "msg_…", "role": "user", …}}},
        {"type": "message.part.updated", "properties": {"sessionID": "ses_…", "part": {"id": "prt_…", …}}}]}}

``directory`` is the folder of the plugin's instance, and the default for sessions that name no folder. ``properties``
are those of the bus, unchanged. These types are used, and others are ignored:

    session.created, session.updated        properties.info: id, directory, parentID, title, revert
    session.idle, session.deleted           properties.sessionID
    message.updated                         properties.info: sessionID, and the fields that ``read_message`` needs
    message.part.updated                    properties.part: id, messageID, sessionID, and more fields
    message.removed, message.part.removed   properties.sessionID, messageID, partID
    session.compacted, permission.replied   no fields: the summary is a message, the feedback ends a tool call

A message counts once, so an incomplete message must never be emitted. Otherwise its missing parts would be lost. So
the feed follows a session from the first message of the user that it sees completely. One ``LiveFeed`` serves one
connection. Messages that exceed a limit are dropped completely; the database still has them.

If the user undoes messages, OpenCode names the first of them in ``revert``. A redo clears it, and the next prompt
removes the messages. A message that is removed otherwise is no undone one.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.contract import find_parent, find_undone, is_message_id
from opencode_memory.hosts.opencode.feed.messages import created_ms, extract_essence, is_finished, read_message
from opencode_memory.learning.extraction.events import Message, SessionInfo, UndoneMessages

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLimits:
    """Limits of a feed. If a limit is exceeded, the oldest entries are dropped.

    Attributes:
        sessions: Followed sessions.
        messages: Incomplete messages of a session.
        parts: Parts of a message.
        message_characters: Characters of a message, as JSON.
        characters: Characters of all incomplete messages.
        done: Messages of a session that are remembered as emitted.
    """

    sessions: int = 256
    messages: int = 64
    parts: int = 1_000
    message_characters: int = 2_000_000
    characters: int = 32_000_000
    done: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Newly completed messages of a session, or news of undone ones.

    Attributes:
        session: The session, as far as known.
        messages: In the order of their creation; may be empty.
        ended: Whether the session is idle or deleted, so that no further message is expected now.
        undone: The messages that were undone or redone; None if there is no news of them.
    """

    session: SessionInfo
    messages: tuple[Message, ...]
    ended: bool
    undone: UndoneMessages | None = None


@dataclass(slots=True)
class _Draft:
    """An incomplete message."""

    info: dict[str, Any]
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    characters: int = 0

    @property
    def place(self) -> tuple[int, str]:
        return created_ms(self.info), self.info["id"]

    def message(self, *, is_followed: bool) -> Message | None:
        return read_message(self.info, [self.parts[name] for name in sorted(self.parts)], is_followed=is_followed)


@dataclass(slots=True)
class _Session:
    info: SessionInfo
    # Creation time from which on messages were seen completely; None if there is none yet.
    since: int | None = None
    # Id of the first message that is undone and can be redone.
    undone_since: str | None = None
    drafts: dict[str, _Draft] = field(default_factory=dict)
    done: OrderedDict[str, None] = field(default_factory=OrderedDict)


class LiveFeed:
    """Assembles the events of one connection."""

    def __init__(self, limits: LiveLimits | None = None) -> None:
        self._limits = limits or LiveLimits()
        # Ordered by their last event.
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._characters = 0

    def take(self, params: object) -> list[Batch]:
        """Process the parameters of a notification and return the newly completed messages.

        Batches are in the order of the events that completed them. Adjacent batches of one session are merged.

        Raises:
            InvalidInputError: The parameters are invalid. None of their events was processed.
        """
        directory, events = _validate(params)
        batches: list[Batch] = []
        for kind, properties in events:
            for batch in self._take(directory, kind, properties):
                merged = _merge(batches[-1], batch) if batches else None
                if merged is None:
                    batches.append(batch)
                else:
                    batches[-1] = merged
        return batches

    def find_undone_since(self, session: str) -> str | None:
        """Return the id of the first undone message of a session; None if no message is undone."""
        known = self._sessions.get(session)
        return None if known is None else known.undone_since

    def cut_short(self, session: str) -> Batch | None:
        """Return the messages that are complete if the session ends now; None if the session is not followed."""
        known = self._sessions.get(session)
        return None if known is None else self._end(known)

    def _take(self, directory: str, kind: str, properties: Mapping[str, Any]) -> Iterator[Batch]:
        match kind, properties:
            case "session.created" | "session.updated", {"info": {"id": str(name)} as info}:
                yield from self._introduce(name, info, directory, is_new=kind == "session.created")
            case "message.updated", {"info": {"id": str(), "role": str()} as info}:
                if (session := self._find_session(properties, info)) is not None:
                    yield from self._add_message(session, info)
            case "message.part.updated", {"part": {"id": str(), "messageID": str()} as part}:
                if (session := self._find_session(properties, part)) is not None:
                    yield from self._add_part(session, part)
            case "message.removed", {"messageID": message} if is_message_id(message):
                yield from self._remove_message(properties, message, directory)
            case "message.part.removed", {"messageID": str(message), "partID": str(part)}:
                session = self._find_session(properties)
                if session is not None and message in session.drafts:
                    self._put(session.drafts[message], part, None)
            case "session.idle", _:
                if (session := self._find_session(properties)) is not None:
                    yield self._end(session)
            case "session.deleted", _:
                session = self._find_session(properties, properties.get("info"), key="id")
                if session is not None:
                    self._forget(session)
                    yield Batch(session=session.info, messages=(), ended=True)
            case (
                "session.compacted"
                | "permission.replied"
                | "permission.asked"
                | "question.asked"
                | "question.replied"
                | "session.status"
                | "session.error",
                _,
            ):
                pass  # For loops and plans.
            case _:
                _LOG.debug("skipped an event of an unknown type or without ids")

    def _introduce(self, name: str, info: Mapping[str, Any], directory: str, *, is_new: bool) -> Iterator[Batch]:
        known = SessionInfo(
            id=name,
            directory=_text(info.get("directory")) or directory,
            parent=find_parent(_text(info.get("title")), _text(info.get("parentID"))),
            title=_text(info.get("title")),
        )
        session, since = self._sessions.get(name), find_undone(info.get("revert"))
        has_news = not is_new if session is None else session.undone_since != since
        if session is None:
            self._sessions[name] = _Session(known, since=0 if is_new else None)
            while len(self._sessions) > self._limits.sessions:
                self._forget(next(iter(self._sessions.values())))
        else:
            session.info = known
        self._sessions.move_to_end(name)
        self._sessions[name].undone_since = since
        if has_news:
            yield _note_undone(known, UndoneMessages(since=since))

    def _remove_message(self, properties: Mapping[str, Any], message: str, directory: str) -> Iterator[Batch]:
        session, name = self._find_session(properties), properties.get("sessionID")
        if session is not None:
            self._drop(session, message)
            yield _note_undone(session.info, UndoneMessages(since=session.undone_since, removed=(message,)))
        elif isinstance(name, str):
            # OpenCode was started again since the undo. Learning knows whether there was one.
            info = SessionInfo(id=name, directory=directory)
            yield _note_undone(info, UndoneMessages(removed=(message,), keeps_since=True))

    def _find_session(self, *places: object, key: str = "sessionID") -> _Session | None:
        """Return the session that an event names.

        A session without a ``session.created`` or ``session.updated`` event is left to the database: an agent may have
        started it, and then its "user" is that agent.
        """
        for place in places:
            name = place.get("sessionID") or place.get(key) if isinstance(place, Mapping) else None
            if isinstance(name, str) and (session := self._sessions.get(name)) is not None:
                self._sessions.move_to_end(name)
                return session
        return None

    def _add_message(self, session: _Session, info: Mapping[str, Any]) -> Iterator[Batch]:
        name = info["id"]
        if name in session.done or not _is_seen_whole(session, info):
            return
        draft = session.drafts.get(name)
        if draft is None:
            draft = session.drafts[name] = _Draft(_extract_info(info))
            earlier = [other for other in session.drafts.values() if other.place < draft.place]
            yield from self._complete(session, earlier, is_followed=True)
            while len(session.drafts) > self._limits.messages:
                self._drop(session, next(iter(session.drafts)))
        draft.info = _extract_info(info)
        if is_finished(draft.info):
            yield from self._complete(session, [draft], is_followed=False)

    def _add_part(self, session: _Session, part: Mapping[str, Any]) -> Iterator[Batch]:
        draft = session.drafts.get(part["messageID"])
        if draft is None:
            return
        if session.since is None:
            session.since = created_ms(draft.info)
        # A part without an essence still shows that parts have arrived.
        self._put(draft, part["id"], extract_essence(part) or {"type": "step-start"})
        if len(draft.parts) > self._limits.parts or draft.characters > self._limits.message_characters:
            self._drop(session, draft.info["id"])
            return
        while self._characters > self._limits.characters:
            self._drop_oldest()
        if is_finished(draft.info):
            yield from self._complete(session, [draft], is_followed=False)

    def _end(self, session: _Session) -> Batch:
        # Keep incomplete messages: after an abort or an error, the session becomes idle twice, and the message is
        # finished only the second time.
        batches = list(self._complete(session, list(session.drafts.values()), is_followed=True))
        return Batch(session=session.info, messages=batches[0].messages if batches else (), ended=True)

    def _complete(self, session: _Session, drafts: Sequence[_Draft], *, is_followed: bool) -> Iterator[Batch]:
        messages: list[Message] = []
        for draft in sorted(drafts, key=lambda draft: draft.place):
            name = draft.info["id"]
            if session.since is None or name not in session.drafts:
                continue
            message = draft.message(is_followed=is_followed)
            if message is not None:
                messages.append(message)
                self._drop(session, name)
        if messages:
            yield Batch(session=session.info, messages=tuple(messages), ended=False)

    def _put(self, draft: _Draft, name: str, essence: dict[str, Any] | None) -> None:
        before = draft.sizes.pop(name, 0)
        draft.parts.pop(name, None)
        after = 0
        if essence is not None:
            after = draft.sizes[name] = len(name) + len(json.dumps(essence))
            draft.parts[name] = essence
        draft.characters += after - before
        self._characters += after - before

    def _drop(self, session: _Session, name: str) -> None:
        """Drop a message and ignore its further events."""
        draft = session.drafts.pop(name, None)
        if draft is not None:
            self._characters -= draft.characters
        session.done[name] = None
        if len(session.done) > self._limits.done:
            session.done.popitem(last=False)

    def _drop_oldest(self) -> None:
        session = next(session for session in self._sessions.values() if session.drafts)
        self._drop(session, next(iter(session.drafts)))

    def _forget(self, session: _Session) -> None:
        self._characters -= sum(draft.characters for draft in session.drafts.values())
        del self._sessions[session.info.id]


def _note_undone(info: SessionInfo, undone: UndoneMessages) -> Batch:
    return Batch(session=info, messages=(), ended=False, undone=undone)


def _merge(first: Batch, second: Batch) -> Batch | None:
    """Return two adjacent batches as one; None if they are of different sessions or kinds."""
    if first.ended or first.session.id != second.session.id:
        return None
    if first.undone is None and second.undone is None:
        return replace(second, messages=first.messages + second.messages)
    if first.undone is None or second.undone is None:
        return None
    joined = replace(second.undone, removed=(*first.undone.removed, *second.undone.removed))
    is_same = replace(first.undone, removed=joined.removed) == joined
    return replace(second, undone=joined) if is_same else None


def _is_seen_whole(session: _Session, info: Mapping[str, Any]) -> bool:
    """Return whether the beginning of a message can have been seen."""
    return bool(info["role"] == "user") if session.since is None else created_ms(info) >= session.since


def _extract_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the fields that ``read_message`` needs, because patches and answers of providers may be long."""
    time = info.get("time")
    time = time if isinstance(time, Mapping) else {}
    essence: dict[str, Any] = {
        key: info[key] for key in ("id", "role", "mode", "agent", "finish") if isinstance(info.get(key), str)
    }
    essence["time"] = {key: value for key, value in time.items() if key in {"created", "completed"}}
    return essence | {"error": bool(info.get("error")), "summary": info.get("summary") is True}


def _validate(params: object) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    if not isinstance(params, Mapping):
        raise InvalidInputError("params: expected an object with directory and events", field="params")
    directory, events = params.get("directory", ""), params.get("events")
    if not isinstance(directory, str):
        raise InvalidInputError("directory: expected text", field="directory")
    if not isinstance(events, list | tuple):
        raise InvalidInputError("events: expected a list", field="events")
    return directory, [_validate_event(f"events[{place}]", event) for place, event in enumerate(events)]


def _validate_event(field: str, event: object) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(event, Mapping):
        raise InvalidInputError(f"{field}: expected an object with type and properties", field=field)
    kind, properties = event.get("type"), event.get("properties", {})
    if not isinstance(kind, str):
        raise InvalidInputError(f"{field}.type: expected a text", field=f"{field}.type")
    for name, value in (("properties", properties), *_objects(kind, properties)):
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{field}.{name}: expected an object", field=f"{field}.{name}")
    return kind, properties


def _objects(kind: str, properties: Any) -> Iterator[tuple[str, object]]:
    if not isinstance(properties, Mapping):
        return
    if kind in {"session.created", "session.updated", "message.updated"}:
        yield "properties.info", properties.get("info")
    elif kind == "message.part.updated":
        yield "properties.part", properties.get("part")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
