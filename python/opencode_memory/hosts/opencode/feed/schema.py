"""The tables of OpenCode's database that are read, and their columns, which differ between versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opencode_memory.hosts.opencode.feed.tables import Engine, columns, engines_of

_SESSION_TABLES: Final = ("session_v2", "session")
_MOST: Final = 16


@dataclass(frozen=True, slots=True)
class Schema:
    """What was found in a database.

    Attributes:
        engines: The engines whose tables exist, in the order in which a session used them.
        sessions: The session tables with their columns, the preferred table first.
    """

    engines: Sequence[Engine]
    sessions: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Schema:
        """Read the schema of a database."""
        known = {table: frozenset(columns(connection, table)) for table in _SESSION_TABLES}
        return cls(engines_of(connection), {table: names for table, names in known.items() if "id" in names})


class Schemas:
    """The schemas of databases that are opened again and again. Reading one takes longer than reading a message."""

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, int], Schema] = {}

    def of(self, connection: sqlite3.Connection, identity: Hashable) -> Schema:
        """Return the schema of a database. It is read again when it has changed.

        Args:
            connection: An open connection.
            identity: Identifies the file.
        """
        version = int(connection.execute("PRAGMA schema_version").fetchone()[0])
        known = self._known.get((identity, version))
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[identity, version] = Schema.read(connection)
        return known
