"""Reads a session's messages page by page, in order, up to the first incomplete message.

A cursor contains a position for each engine: the last message that was read, and the number of messages up to it. The
number is needed because a message can be inserted before the position: a queued prompt gets its place while the agent
works on, before messages that were already read. Then the session is read from its beginning again. Learning skips the
messages that it has already counted.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Final

from opencode_memory.hosts.opencode.feed.messages import is_finished, read_message
from opencode_memory.hosts.opencode.feed.tables import Engine, Parts, Position, Row, parts_of, parts_of_some
from opencode_memory.learning.extraction.events import Message

_LOG: Final = logging.getLogger(__name__)
_MAX_CHARACTERS: Final = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Consecutive messages of a session.

    Attributes:
        messages: Complete messages in order, including those without events.
        cursor: Position of the next page; None at the beginning of a session.
        is_end: Whether no complete message is left.
        waits: Whether an incomplete message ended the page. It may become complete by the passage of time, so its
            session must be read again although its mark stays the same.
        undone_since: Id of the first message that the user has undone and can redo, where the last page ends; None if
            there is none.
    """

    messages: tuple[Message, ...]
    cursor: str | None
    is_end: bool
    waits: bool
    undone_since: str | None = None


def read_page(
    connection: sqlite3.Connection,
    engines: Sequence[Engine],
    session: str,
    after: str | None,
    *,
    now_ms: int,
    limit: int,
    undone_since: str | None = None,
) -> Page:
    """Read the complete messages of a session after a cursor, up to the first that the user has undone.

    The arguments are those of ``OpenCodeDatabase``, and the id of that message.
    """
    places = _parse_cursor(after)
    messages: list[Message] = []
    characters = 0
    is_end, waits = True, False
    for engine in engines:
        position = _find_position(connection, engine, session, places)
        for row, following in _with_next(engine.rows(connection, session, position)):
            if undone_since is not None and row.id >= undone_since:
                break
            if len(messages) >= limit or characters >= _MAX_CHARACTERS:
                is_end = False
                break
            parts = _read_parts(connection, row)
            message = _read_complete(
                connection, engine, session, row, parts, now_ms=now_ms, is_followed=following is not None
            )
            if message is None:
                waits = True
                break
            messages.append(message)
            characters += row.size + parts.size
            position = row.position
        if position is not None:
            places[engine.name] = [*position, engine.behind(connection, session, position)]
        if waits or not is_end:
            break
    cursor = json.dumps(places, separators=(",", ":")) if places else None
    return Page(messages=tuple(messages), cursor=cursor, is_end=is_end, waits=waits, undone_since=undone_since)


def read_some(
    connection: sqlite3.Connection, engines: Sequence[Engine], wanted: Mapping[str, Collection[str]], *, now_ms: int
) -> dict[tuple[str, str], Message]:
    """Read some messages by session and id; incomplete ones are left out.

    Args:
        connection: An open connection.
        engines: The engines of the database.
        wanted: Ids of messages by session.
        now_ms: The current time, in UTC milliseconds.
    """
    ids = [name for names in wanted.values() for name in names]
    found: dict[tuple[str, str], Message] = {}
    for engine in engines:
        rows = [(session, row) for session, row in engine.rows_of(connection, ids) if row.id in wanted.get(session, ())]
        apart = parts_of_some(connection, [row.id for _, row in rows if row.parts is None])
        for session, row in rows:
            parts = apart[row.id] if row.parts is None else Parts(row.parts, 0, 0)
            touched_ms = max(row.touched_ms, parts.touched_ms)
            message = read_message(row.info, parts.parts, now_ms=now_ms, touched_ms=touched_ms, is_followed=True)
            if message is not None:
                found[session, row.id] = message
    return found


def _read_complete(
    connection: sqlite3.Connection,
    engine: Engine,
    session: str,
    row: Row,
    parts: Parts,
    *,
    now_ms: int,
    is_followed: bool,
) -> Message | None:
    touched_ms = max(row.touched_ms, parts.touched_ms)
    message = read_message(row.info, parts.parts, now_ms=now_ms, touched_ms=touched_ms, is_followed=is_followed)
    if message is None and is_followed:
        # The agent works on one message at a time, and never returns to an earlier one.
        is_left = any(is_finished(later.info) for later in engine.rows(connection, session, row.position))
        if is_left:
            return read_message(row.info, parts.parts, is_left=True)
    return message


def _read_parts(connection: sqlite3.Connection, row: Row) -> Parts:
    return parts_of(connection, row.id) if row.parts is None else Parts(row.parts, 0, 0)


def _find_position(
    connection: sqlite3.Connection, engine: Engine, session: str, places: dict[str, list[Any]]
) -> Position | None:
    place = places.get(engine.name)
    if place is None:
        return None
    *position, count = place
    came_in_behind = engine.behind(connection, session, tuple(position)) > count
    return None if came_in_behind else tuple(position)


def _parse_cursor(cursor: str | None) -> dict[str, list[Any]]:
    if cursor is None:
        return {}
    try:
        places = json.loads(cursor)
    except ValueError:
        places = None
    if isinstance(places, dict) and all(_is_place(name, place) for name, place in places.items()):
        return places
    _LOG.debug("the cursor has another version; reading its session from the beginning")
    return {}


def _is_place(name: Any, place: Any) -> bool:
    match name, place:
        case ("v1", [int(), str(), int()]) | ("v2", [int(), int()]):
            return True
    return False


def _with_next(rows: Iterator[Row]) -> Iterator[tuple[Row, Row | None]]:
    for row, following in pairwise(chain[Row | None](rows, [None])):
        if row is not None:
            yield row, following
