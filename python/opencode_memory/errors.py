"""The exceptions of opencode-memory.

::

    OpencodeMemoryError
    ├── InvalidInputError (ValueError)      .field .limit
    │   └── DimensionMismatchError          .expected .received
    ├── NotFoundError (LookupError)         .id
    ├── ConflictError
    ├── BusyError (TimeoutError)
    ├── ClosedError (RuntimeError)
    ├── StorageError (OSError)              .path
    ├── CorruptStoreError
    │   └── FormatVersionError              .found .supported
    ├── EmbeddingError
    │   ├── EmbeddingBudgetError            .tokens .until
    │   └── ModelNotFoundError
    └── ConfigError                         .key .origin

A message says what was attempted, on what, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class OpencodeMemoryError(Exception):
    """Base class of all errors that opencode-memory raises on purpose."""

    hint: str | None = None


class InvalidInputError(OpencodeMemoryError, ValueError):
    """An argument is invalid; no change was written."""

    def __init__(self, message: str, *, field: str, limit: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.limit = limit


class DimensionMismatchError(InvalidInputError):
    """An embedding has another length than the store's."""

    def __init__(self, message: str, *, expected: int, received: int) -> None:
        super().__init__(message, field="embedding", limit=str(expected))
        self.expected = expected
        self.received = received


class NotFoundError(OpencodeMemoryError, LookupError):
    """There is no object with the given id or name."""

    def __init__(self, message: str, *, id: str) -> None:
        super().__init__(message)
        self.id = id


class ConflictError(OpencodeMemoryError):
    """The change contradicts the stored state."""


class BusyError(OpencodeMemoryError, TimeoutError):
    """Another process held a lock for longer than the timeout; the operation can be tried again."""


class ClosedError(OpencodeMemoryError, RuntimeError):
    """The store was closed, or was opened before a ``fork`` and belongs to the parent process."""


class StorageError(OpencodeMemoryError, OSError):
    """The file system refused: no space, no permission, an I/O error."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class CorruptStoreError(OpencodeMemoryError):
    """The store's own file is damaged or is not an opencode-memory store."""


class FormatVersionError(CorruptStoreError):
    """The store was written by a newer version."""

    def __init__(self, message: str, *, found: int, supported: int) -> None:
        super().__init__(message)
        self.found = found
        self.supported = supported


class EmbeddingError(OpencodeMemoryError):
    """A text could not be turned into a vector."""


class EmbeddingBudgetError(EmbeddingError):
    """The daily budget of tokens does not allow a request to the embedding server; nothing was sent.

    ``tokens`` is an upper bound of the tokens of the request. ``until`` is the start of the next budget; None if the
    request needs more than the budget of a whole day.
    """

    def __init__(self, message: str, *, tokens: int, until: datetime | None) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.until = until


class ModelNotFoundError(EmbeddingError):
    """The files of an embedding model are missing or damaged."""


class ConfigError(OpencodeMemoryError):
    """A configuration value is invalid."""

    def __init__(self, message: str, *, key: str, origin: str) -> None:
        super().__init__(message)
        self.key = key
        self.origin = origin
