"""Reading a SQLite file that belongs to another program, beside that program.

Nothing is written, no lock is held between two questions, and no file is left behind. The last is not what SQLite does
by itself: whoever opens a database in WAL mode for reading creates a ``-wal`` and a ``-shm`` beside it, and a reader
cannot delete them. So a file that nobody has open (there is no ``-wal``) is read as an immutable one, and an answer
counts only if nothing has changed when it is there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
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


class BesideReader:
    """Questions to a SQLite file, each in a read transaction of its own.

    Used in one thread. ``path`` need not exist yet; each question looks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._connection: sqlite3.Connection | None = None
        self._state: _State | None = None

    def ask(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Let a question read, and ask it again when the answer may be torn.

        Args:
            question: Reads what it needs and keeps nothing of the connection.

        Raises:
            StorageError: The file is missing, damaged, or may not be read.
            InvalidInputError: It is not a SQLite database.
            BusyError: Another program keeps it locked.
        """
        for _ in range(_ATTEMPTS):
            state = self._look()
            try:
                connection = self._connected(state)
                connection.execute("BEGIN")
                try:
                    answer = question(connection)
                finally:
                    connection.rollback()
            except sqlite3.Error as error:
                if self._look() == state:
                    self.close()
                    raise self._explained(error) from error
            else:
                if self._look() == state:
                    return answer
            self.close()
        raise BusyError(f"{self._path} changes faster than it can be read")

    def close(self) -> None:
        """Let the file go."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _look(self) -> _State:
        """Return what says how the file has to be opened, and, when nobody has it open, that it is still the same."""
        try:
            status = self._path.stat()
            with self._path.open("rb") as file:
                header = file.read(_HEADER_BYTES)
            is_alone = (
                header[18:19] == bytes([_WAL_VERSION]) and not self._path.with_name(f"{self._path.name}-wal").exists()
            )
        except OSError as error:
            raise self._unreadable(error) from error
        if header and not header.startswith(_MAGIC):
            message = f"{self._path} is not a SQLite database"
            raise InvalidInputError(message, field="db")
        identity = (is_alone, status.st_dev, status.st_ino)
        return (*identity, status.st_mtime_ns, status.st_size) if is_alone else identity

    def _connected(self, state: _State) -> sqlite3.Connection:
        if self._connection is None or self._state != state:
            self.close()
            options = "mode=ro&immutable=1" if state[0] else "mode=ro"
            # as_uri quotes what would end the path: ? # %.
            uri = f"{self._path.as_uri()}?{options}"
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_MS / 1000)
            # A text that is not UTF-8 is a damaged row, not a reason to stop.
            self._connection.text_factory = _decoded
            self._state = state
        return self._connection

    def _unreadable(self, error: OSError) -> OpencodeMemoryError:
        if isinstance(error, FileNotFoundError):
            told = StorageError(f"there is no database at {self._path}", path=str(self._path))
            told.hint = "run OpenCode once, or name its database; `opencode db path` says where it is"
            return told
        if isinstance(error, IsADirectoryError):
            return InvalidInputError(f"{self._path} is a folder, not a database", field="db")
        return StorageError(f"cannot read {self._path}: {error.strerror}", path=str(self._path))

    def _explained(self, error: sqlite3.Error) -> OpencodeMemoryError:
        code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return BusyError(f"{self._path} is locked by another program")
        if code == sqlite3.SQLITE_NOTADB:
            return InvalidInputError(f"{self._path} is not a SQLite database", field="db")
        told = StorageError(f"cannot read {self._path}: {error}", path=str(self._path))
        if code == sqlite3.SQLITE_CANTOPEN:
            told.hint = "its folder must be writable while another program has it open; copy it with its -wal and -shm"
        elif code == sqlite3.SQLITE_CORRUPT:
            told.hint = "the file is damaged; `sqlite3 FILE .recover` saves what can be saved"
        return told


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
