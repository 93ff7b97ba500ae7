"""Reads the SQLite file of another program while that program may use it.

The reader writes no data, holds no lock between two queries, and leaves no file behind. The last needs care: SQLite
creates a ``-wal`` and a ``-shm`` file when it opens a database in WAL mode, and a reader cannot delete them. So a file
that no program has open (there is no ``-wal``) is opened as immutable. Then a result is valid only if the file did not
change during the query.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from opencode_memory.errors import BusyError, InvalidInputError, OpencodeMemoryError, StorageError

BUSY_MS: Final = 5_000
_ATTEMPTS: Final = 5
_MAGIC: Final = b"SQLite format 3\0"
_WAL_VERSION: Final = 2
_HEADER_BYTES: Final = 19

_State: TypeAlias = tuple[Any, ...]
_Answer = TypeVar("_Answer")


class UnreadableError(StorageError):
    """The file of the other program is missing, damaged or not readable."""


class BesideReader:
    """Runs queries on a SQLite file, each in its own read transaction.

    Use it in one thread. ``path`` need not exist yet; each query checks it again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._connection: sqlite3.Connection | None = None
        self._state: _State | None = None

    def ask(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Run a query, and repeat it if the file changed during the query.

        Args:
            question: Runs the query. It must not keep the connection or a cursor.

        Raises:
            UnreadableError: The file is missing, damaged or not readable.
            InvalidInputError: It is not a SQLite database.
            BusyError: Another program keeps it locked.
        """
        for _ in range(_ATTEMPTS):
            state = self._look()
            try:
                connection = self._connect(state)
                connection.execute("BEGIN")
                try:
                    answer = question(connection)
                finally:
                    connection.rollback()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                # A damaged schema appears in the message of SQLite's error, and Python cannot decode it.
                if self._look() == state:
                    self.close()
                    raise self._describe_sqlite_error(error) from error
            else:
                if self._look() == state:
                    return answer
            self.close()
        raise BusyError(f"{self._path} changes faster than it can be read")

    @property
    def identity(self) -> Hashable:
        """Identifies the file that a running query reads."""
        return self._path, self._state[1:3] if self._state is not None else None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _look(self) -> _State:
        """Return how to open the file and, if no program has it open, its version."""
        try:
            status = self._path.stat()
            with self._path.open("rb") as file:
                header = file.read(_HEADER_BYTES)
            is_alone = (
                header[18:19] == bytes([_WAL_VERSION]) and not self._path.with_name(f"{self._path.name}-wal").exists()
            )
        except OSError as error:
            raise self._describe_os_error(error) from error
        if header and not header.startswith(_MAGIC):
            message = f"{self._path} is not a SQLite database"
            raise InvalidInputError(message, field="db")
        identity = (is_alone, status.st_dev, status.st_ino)
        return (*identity, status.st_mtime_ns, status.st_size) if is_alone else identity

    def _connect(self, state: _State) -> sqlite3.Connection:
        if self._connection is None or self._state != state:
            self.close()
            options = "mode=ro&immutable=1" if state[0] else "mode=ro"
            # as_uri quotes the characters that would end the path: ? # %.
            uri = f"{self._path.as_uri()}?{options}"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_MS / 1000)
            # Text that is not UTF-8 is one damaged row. Replace it instead of failing.
            self._connection.text_factory = _decode
            self._state = state
        return self._connection

    def _describe_os_error(self, error: OSError) -> OpencodeMemoryError:
        if isinstance(error, FileNotFoundError):
            missing = UnreadableError(f"there is no database at {self._path}", path=str(self._path))
            missing.hint = "run OpenCode once, or name its database; `opencode db path` says where it is"
            return missing
        if isinstance(error, IsADirectoryError):
            return InvalidInputError(f"{self._path} is a folder, not a database", field="db")
        return UnreadableError(f"cannot read {self._path}: {error.strerror}", path=str(self._path))

    def _describe_sqlite_error(self, error: sqlite3.Error | UnicodeDecodeError) -> OpencodeMemoryError:
        if isinstance(error, UnicodeDecodeError):
            return self._describe_damage("its schema is not UTF-8")
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return BusyError(f"{self._path} is locked by another program")
        if code == sqlite3.SQLITE_NOTADB:
            return InvalidInputError(f"{self._path} is not a SQLite database", field="db")
        if code == sqlite3.SQLITE_CORRUPT:
            return self._describe_damage(str(error))
        failed = UnreadableError(f"cannot read {self._path}: {error}", path=str(self._path))
        if code == sqlite3.SQLITE_CANTOPEN:
            failed.hint = (
                "its folder must be writable while another program has it open; copy it with its -wal and -shm"
            )
        return failed

    def _describe_damage(self, problem: str) -> UnreadableError:
        damaged = UnreadableError(f"cannot read {self._path}: {problem}", path=str(self._path))
        damaged.hint = "the file is damaged; `sqlite3 FILE .recover` saves what can be saved"
        return damaged


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
