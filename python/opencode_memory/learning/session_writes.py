"""Writes the state of a session while other processes may read and write the same session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from opencode_memory.errors import BusyError, ConflictError

_T = TypeVar("_T")
_RACES: Final = 8


def retry_on_conflict(attempt: Callable[[], _T], session: str) -> _T:
    """Repeat an attempt while other processes write the same session, a few times.

    Raises:
        BusyError: Other processes write the same session all the time.
    """
    return retry(attempt, busy=f"session {session} is being read by other processes; it will be read again later")


def retry(attempt: Callable[[], _T], *, busy: str) -> _T:
    """Repeat an attempt while other processes write the same row, a few times.

    Args:
        attempt: Reads the row and writes it; raises ``ConflictError`` if it was written in between.
        busy: The message of the error.

    Raises:
        BusyError: Other processes write the same row all the time.
    """
    for _ in range(_RACES):
        try:
            return attempt()
        except ConflictError:
            continue
    raise BusyError(busy)


def name_message(session: str, message: str) -> str:
    """Return the name by which a message of a session is marked as processed."""
    return f"message:{session}:{message}"
