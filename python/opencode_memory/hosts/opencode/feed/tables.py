"""Tables of OpenCode's two engines: detects them in a database, and reads their rows in order.

Columns are detected, because they differ between versions. A row with invalid or too long JSON becomes a message
without events, so that later messages are still reached.
"""

# ruff: noqa: S608  Only constants are inserted into the statements.
from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from opencode_memory.hosts.opencode.feed.messages import created_ms
from opencode_memory.hosts.opencode.feed.second_engine import as_v1

_LOG: Final = logging.getLogger(__name__)
_MAX_CHARACTERS: Final = 8_000_000
_LARGE: Final = 250_000
_MAX_PARTS: Final = 2_000
_MESSAGE: Final = frozenset({"id", "session_id", "time_created", "time_updated", "data"})
_PART: Final = frozenset({"id", "message_id", "time_updated", "data"})
_SESSION_MESSAGE: Final = frozenset({"id", "session_id", "type", "seq", "time_updated", "data"})

Position: TypeAlias = tuple[Any, ...]
"""Time of creation and id in the first engine, sequence number in the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A message as it is stored, without its parts.

    Attributes:
        id: Id of the message.
        position: Position in the session, as the engine's ``rows`` takes it.
        info: The message's own fields.
        touched_ms: Time of its last change, without its parts.
        parts: Its parts if they are stored in the same row, else None.
        size: Number of characters that were read.
    """

    id: str
    position: Position
    info: Mapping[str, Any]
    touched_ms: int
    parts: list[dict[str, Any]] | None
    size: int


class Engine(Protocol):
    """Message tables of one engine."""

    name: str
    table: str
    newest_first: str

    def rows(self, connection: sqlite3.Connection, session: str, after: Position | None) -> Iterator[Row]:
        """Yield the messages of a session after a position, in order."""
        ...

    def rows_of(self, connection: sqlite3.Connection, ids: Collection[str]) -> Iterator[tuple[str, Row]]:
        """Yield messages by their ids, each with its session, in any order."""
        ...

    def behind(self, connection: sqlite3.Connection, session: str, position: Position) -> int:
        """Count the messages up to and including a position."""
        ...


class FirstEngine:
    """``message`` and ``part``, in the order of creation."""

    name = "v1"
    table = "message"
    newest_first = "time_created DESC, id DESC"

    def rows(self, connection: sqlite3.Connection, session: str, after: Position | None) -> Iterator[Row]:
        """Yield the messages of a session after a position."""
        condition = "session_id = ? AND (time_created, id) > (?, ?) ORDER BY time_created, id"
        for _, row in self._select(connection, condition, (session, *(after or (-1, "")))):
            yield row

    def rows_of(self, connection: sqlite3.Connection, ids: Collection[str]) -> Iterator[tuple[str, Row]]:
        """Yield messages by their ids, each with its session, in any order."""
        return self._select(connection, f"id IN ({_places(ids)})", ids)

    def _select(
        self, connection: sqlite3.Connection, condition: str, values: Iterable[Any]
    ) -> Iterator[tuple[str, Row]]:
        # The summary of a long turn contains a patch for each file. All other fields are short.
        statement = (
            "SELECT session_id, id, time_created, time_updated, CASE WHEN length(data) <= ? THEN data"
            " WHEN json_valid(data) THEN json_remove(data, '$.summary') END"
            f" FROM message WHERE {condition}"
        )
        for session, name, created, updated, data in connection.execute(statement, (_LARGE, *values)):
            if not is_sound(name) or not isinstance(created, int):
                continue
            info = parse_object(data) | {"id": name}
            if not created_ms(info):
                info["time"] = _mapping(info.get("time")) | {"created": created}
            row = Row(
                id=name,
                position=(created, name),
                info=info,
                touched_ms=_whole(updated),
                parts=None,
                size=len(data or ""),
            )
            yield session, row

    def behind(self, connection: sqlite3.Connection, session: str, position: Position) -> int:
        """Count the messages up to and including a position."""
        statement = "SELECT count(*) FROM message WHERE session_id = ? AND (time_created, id) <= (?, ?)"
        return int(connection.execute(statement, (session, *position)).fetchone()[0])


class SecondEngine:
    """``session_message``, by sequence number, without messages that the first engine also has."""

    name = "v2"
    table = "session_message"
    newest_first = "seq DESC"

    def __init__(self, *, has_first: bool) -> None:
        self._only_ours = " AND NOT EXISTS (SELECT 1 FROM message f WHERE f.id = m.id)" if has_first else ""

    def rows(self, connection: sqlite3.Connection, session: str, after: Position | None) -> Iterator[Row]:
        """Yield the messages of a session after a position."""
        for _, row in self._select(
            connection, "session_id = ? AND seq > ?", (session, *(after or (-1,))), " ORDER BY seq"
        ):
            yield row

    def rows_of(self, connection: sqlite3.Connection, ids: Collection[str]) -> Iterator[tuple[str, Row]]:
        """Yield messages by their ids, each with its session, in any order."""
        return self._select(connection, f"id IN ({_places(ids)})", ids)

    def _select(
        self, connection: sqlite3.Connection, condition: str, values: Iterable[Any], order: str = ""
    ) -> Iterator[tuple[str, Row]]:
        statement = (
            "SELECT session_id, id, seq, type, time_updated, CASE WHEN length(data) <= ? THEN data END"
            f" FROM session_message m WHERE {condition}{self._only_ours}{order}"
        )
        for session, name, seq, kind, updated, data in connection.execute(statement, (_MAX_CHARACTERS, *values)):
            if not is_sound(name) or not isinstance(seq, int):
                continue
            info, parts = as_v1(name, str(kind), parse_object(data))
            row = Row(
                id=name, position=(seq,), info=info, touched_ms=_whole(updated), parts=parts, size=len(data or "")
            )
            yield session, row

    def behind(self, connection: sqlite3.Connection, session: str, position: Position) -> int:
        """Return 0: sequence numbers follow the order of writing, so no message is inserted before a position."""
        del connection, session, position
        return 0


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a message of the first engine.

    Attributes:
        parts: In the order of their ids.
        touched_ms: Time of the last change of any part.
        size: Number of characters.
    """

    parts: list[dict[str, Any]]
    touched_ms: int
    size: int


def parts_of(connection: sqlite3.Connection, message: str) -> Parts:
    """Read the parts of a message of the first engine."""
    statement = (
        "SELECT time_updated, CASE WHEN length(data) <= ? THEN data END FROM part WHERE message_id = ?"
        " ORDER BY id LIMIT ?"
    )
    return _parts(connection.execute(statement, (_MAX_CHARACTERS, message, _MAX_PARTS)))


def _parts(rows: Iterable[tuple[Any, Any]]) -> Parts:
    parts, touched, size = [], 0, 0
    for updated, data in rows:
        parts.append(parse_object(data))
        touched = max(touched, _whole(updated))
        size += len(data or "")
    return Parts(parts, touched, size)


def parts_of_some(connection: sqlite3.Connection, messages: Collection[str]) -> dict[str, Parts]:
    """Read the parts of some messages of the first engine, by message. One statement is faster than one for each."""
    if not messages:
        return {}
    statement = (
        "SELECT message_id, time_updated, CASE WHEN length(data) <= ? THEN data END FROM part"
        f" WHERE message_id IN ({_places(messages)}) ORDER BY message_id, id LIMIT ?"
    )
    rows = connection.execute(statement, (_MAX_CHARACTERS, *messages, _MAX_PARTS)).fetchall()
    if len(rows) >= _MAX_PARTS:
        # Otherwise the parts of one message could leave no room for those of others.
        return {name: parts_of(connection, name) for name in messages}
    found: dict[str, list[tuple[Any, Any]]] = {name: [] for name in messages}
    for name, *part in rows:
        found[name].append((part[0], part[1]))
    return {name: _parts(part) for name, part in found.items()}


def engines_of(connection: sqlite3.Connection) -> list[Engine]:
    """Return the engines whose tables exist, in the order in which a session used them."""
    engines: list[Engine] = []
    has_first = columns(connection, "message") >= _MESSAGE and columns(connection, "part") >= _PART
    if has_first:
        engines.append(FirstEngine())
    if columns(connection, "session_message") >= _SESSION_MESSAGE:
        engines.append(SecondEngine(has_first=has_first))
    return engines


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns; empty if the table does not exist."""
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _places(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))


def parse_object(data: Any) -> dict[str, Any]:
    """Parse a JSON object; empty if the data are none, for example because a column is empty."""
    try:
        found = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        _LOG.debug("skipped a value that is empty, too long or no JSON")
        return {}
    return found if isinstance(found, dict) else {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def is_sound(name: Any) -> bool:
    """Return whether an id can be used in a query: text, without characters that were replaced when reading."""
    return isinstance(name, str) and "\ufffd" not in name
