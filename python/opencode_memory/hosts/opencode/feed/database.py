"""Reads sessions from OpenCode's database, read-only, while OpenCode may be running.

Two engines write to the database. The first uses ``session``, ``message`` and ``part``. The second uses
``session_message`` and, since 2.0, ``session_v2``. A session may be in both: a migration copies messages under their
ids and keeps the old rows, and a session that started with one engine can continue with the other. So the messages of
the first engine come first, then those that only the second engine has. Title and folder come from ``session_v2``, if
the session is there.

Cursors belong to one session. So sessions that are imported later, and messages added to old sessions, are found.
"""

# ruff: noqa: S608  The names of tables and columns are constants of this package.
from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.contract import find_parent, find_undone
from opencode_memory.hosts.opencode.feed.pages import Page, read_page, read_some
from opencode_memory.hosts.opencode.feed.schema import Schema, Schemas
from opencode_memory.hosts.opencode.feed.sqlite_reader import BesideReader
from opencode_memory.hosts.opencode.feed.tables import is_sound, parse_object
from opencode_memory.learning.extraction.events import Message, SessionInfo

_BATCH: Final = 100
_NEWEST: Final = 4
_NO_MARKS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHead:
    """A session, with a mark that shows whether it has changed.

    Attributes:
        info: The session.
        mark: Changes whenever messages are added or finished. Store it only after the session's last page was read
            and did not wait.
        active_ms: Time of the last activity, in UTC milliseconds.
    """

    info: SessionInfo
    mark: str
    active_ms: int


class OpenCodeDatabase:
    """OpenCode's database; a context manager, used in one thread.

    Every method checks the file again and can raise the same errors.

    Args:
        path: The file.
        schemas: The schemas of databases that the caller has opened before. With them, nothing is read before the
            first question, which raises the errors.

    Raises:
        StorageError: The file is missing, damaged or not readable.
        InvalidInputError: The file is not a SQLite database, or not OpenCode's.
        BusyError: Another program keeps it locked.
    """

    def __init__(self, path: Path, schemas: Schemas | None = None) -> None:
        self._path = path
        self._reader = BesideReader(path)
        self._schemas = Schemas() if schemas is None else schemas
        if schemas is not None:
            return
        try:
            self._reader.ask(self._schema)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def sessions(self, changed_since: Mapping[str, str] = _NO_MARKS) -> Iterator[SessionHead]:
        """Yield the sessions with messages, including archived ones. The longest inactive session comes first.

        Reads only the number of messages and the times of the newest.

        Args:
            changed_since: Marks by session; sessions whose mark is unchanged are skipped.
        """
        marks = self._reader.ask(self._marks)
        changed = iter(
            sorted((active, name, mark) for name, (mark, active) in marks.items() if changed_since.get(name) != mark)
        )
        while batch := list(islice(changed, _BATCH)):
            infos = self._reader.ask(partial(self._infos, names=[name for _, name, _ in batch]))
            for active_ms, name, mark in batch:
                if name in infos:  # The session may have been deleted since.
                    yield SessionHead(info=infos[name], mark=mark, active_ms=active_ms)

    def find_session(self, session: str) -> SessionHead | None:
        """Return a session with messages; None if there is none of that id."""
        marks = self._reader.ask(partial(self._marks, only=session))
        info = self._reader.ask(partial(self._infos, names=[session])).get(session)
        if info is None or session not in marks:
            return None
        mark, active_ms = marks[session]
        return SessionHead(info=info, mark=mark, active_ms=active_ms)

    def messages(self, session: str, after: str | None, *, now_ms: int, limit: int = 200) -> Page:
        """Read the next complete messages of a session, without those that the user has undone.

        Args:
            session: Its id.
            after: The cursor of the page before; None for the beginning.
            now_ms: The current time, in UTC milliseconds. An unfinished message counts as complete after a while.
            limit: Maximum number of messages; a page with long messages has fewer.
        """
        if limit < 1:
            raise InvalidInputError(
                f"limit: is {limit}, but a page needs at least one message", field="limit", limit="1"
            )

        def page(connection: sqlite3.Connection) -> Page:
            return read_page(
                connection,
                self._schema(connection).engines,
                session,
                after,
                now_ms=now_ms,
                limit=limit,
                undone_since=self._find_undone(connection, session),
            )

        return self._reader.ask(page)

    def message_ids(self, session: str) -> frozenset[str]:
        """Return the ids of all messages of a session, complete or not."""

        def ids(connection: sqlite3.Connection) -> frozenset[str]:
            found: set[str] = set()
            for engine in self._schema(connection).engines:
                rows = connection.execute(f"SELECT id FROM {engine.table} WHERE session_id = ?", (session,))
                found.update(name for (name,) in rows if is_sound(name))
            return frozenset(found)

        return self._reader.ask(ids)

    def read_messages(
        self, wanted: Mapping[str, Collection[str]], *, now_ms: int
    ) -> tuple[dict[tuple[str, str], Message], dict[str, SessionInfo]]:
        """Return messages by session and id, and their sessions by id; what does not exist is left out.

        Args:
            wanted: Ids of messages by session.
            now_ms: The current time, in UTC milliseconds.
        """

        def read(connection: sqlite3.Connection) -> tuple[dict[tuple[str, str], Message], dict[str, SessionInfo]]:
            messages = read_some(connection, self._schema(connection).engines, wanted, now_ms=now_ms)
            return messages, self._infos(connection, [*wanted])

        return self._reader.ask(read)

    def _schema(self, connection: sqlite3.Connection) -> Schema:
        schema = self._schemas.of(connection, self._reader.identity)
        if not schema.engines or not schema.sessions:
            error = InvalidInputError(
                f"{self._path} is not a database of OpenCode, or its version is unknown", field="db"
            )
            error.hint = "`opencode db path` says where OpenCode keeps it"
            raise error
        return schema

    def _find_undone(self, connection: sqlite3.Connection, session: str) -> str | None:
        for table, known in self._schema(connection).sessions.items():
            if "revert" in known:
                row = connection.execute(f"SELECT revert FROM {table} WHERE id = ?", (session,)).fetchone()
                if row is not None:
                    return find_undone(parse_object(row[0]))
        return None

    def _marks(self, connection: sqlite3.Connection, only: str | None = None) -> dict[str, tuple[str, int]]:
        """Return mark and last activity of each session with messages, or of one."""
        asked = ["s.id", "s.time_updated"]
        for engine in self._schema(connection).engines:
            asked.append(f"(SELECT count(*) FROM {engine.table} m WHERE m.session_id = s.id)")
            # An active message is among the newest. Rows of older messages need not be read.
            newest = (
                f"SELECT m.time_updated AS moment FROM {engine.table} m WHERE m.session_id = s.id"
                f" ORDER BY {engine.newest_first} LIMIT {_NEWEST}"
            )
            asked.append(f"(SELECT max(moment) FROM ({newest}))")
        found: dict[str, tuple[str, int]] = {}
        for table, known in self._schema(connection).sessions.items():
            updated = "time_updated" if "time_updated" in known else "NULL AS time_updated"
            chosen = "" if only is None else " WHERE id = ?"
            statement = f"SELECT {', '.join(asked)} FROM (SELECT id, {updated} FROM {table}{chosen}) s"
            for name, *values in connection.execute(statement, () if only is None else (only,)):
                if is_sound(name) and name not in found and any(values[1::2]):
                    moments = [moment for moment in values[::2] if isinstance(moment, int)]
                    found[name] = (".".join(str(part or 0) for part in values), max(moments, default=0))
        return found

    def _infos(self, connection: sqlite3.Connection, names: list[str]) -> dict[str, SessionInfo]:
        found: dict[str, SessionInfo] = {}
        for table, known in self._schema(connection).sessions.items():
            asked = ", ".join(name if name in known else "NULL" for name in ("directory", "parent_id", "title"))
            places = ", ".join("?" * len(names))
            for name, *values in connection.execute(f"SELECT id, {asked} FROM {table} WHERE id IN ({places})", names):
                directory, parent, title = (str(value or "") for value in values)
                info = SessionInfo(id=name, directory=directory, parent=find_parent(title, parent), title=title)
                found.setdefault(name, info)
        return found


def default_database(environment: Mapping[str, str]) -> Path | None:
    """Return the path of OpenCode's database, which need not exist; None if OpenCode uses no file.

    ``OPENCODE_DB`` names a file, relative to OpenCode's data folder, or ``:memory:``. Without it the file is
    ``$XDG_DATA_HOME/opencode/opencode.db``, on every system.
    """
    home = environment.get("HOME") or environment.get("USERPROFILE")
    configured, named = environment.get("XDG_DATA_HOME"), environment.get("OPENCODE_DB")
    if named == ":memory:":
        return None
    if named and Path(named).is_absolute():
        return Path(named)
    if not configured and not home:
        return None
    data = Path(configured) if configured else Path(home or "") / ".local" / "share"
    return data / "opencode" / (named or "opencode.db")
