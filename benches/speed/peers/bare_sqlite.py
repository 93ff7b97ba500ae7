"""The yardstick for inserts: a row of the same kind, committed to a bare SQLite file, WAL, ``synchronous=FULL``."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Final

from .base import Operation, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..data import Batch, Memory

TABLE: Final = """
CREATE TABLE memory (key INTEGER PRIMARY KEY, id TEXT UNIQUE, content TEXT, project TEXT, category TEXT, status TEXT,
    time_ms INTEGER, created_ms INTEGER, updated_ms INTEGER, metadata TEXT)
"""
INSERT: Final = "INSERT INTO memory VALUES (NULL, ?, ?, ?, ?, 'active', ?, ?, ?, ?)"


class Engine(Peer):
    """Only stores rows. It is filled like the others, so that its tree has the same depth."""

    operations: frozenset[Operation] = frozenset()
    configuration = "one table, WAL, FULL, one commit per row"

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def build(self, batches: Iterable[Batch]) -> None:
        self._directory.mkdir(parents=True)
        self.open()
        self._connection.execute(TABLE)
        self._connection.execute("BEGIN IMMEDIATE")
        for batch in batches:
            self._connection.executemany(INSERT, map(_values, batch.memories))
        self._connection.execute("COMMIT")
        self.close()

    def open(self) -> None:
        self._connection = sqlite3.connect(self._directory / "bare.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")

    def insert(self, memory: Memory, vector: NDArray[np.float32]) -> None:  # noqa: ARG002 - this row has no vector
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(INSERT, _values(memory))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def _values(memory: Memory) -> tuple[str, str, str, str, int, int, int, str]:
    name = f"00000000-0000-7000-8000-{memory.row:012x}"
    time_ms = memory.time_ms
    metadata = json.dumps({"row": memory.row})
    return name, memory.content, memory.project, memory.category, time_ms, time_ms, time_ms, metadata
