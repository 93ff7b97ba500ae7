"""Reads whole sessions from OpenCode's database for a digest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.learning.extraction.events import Message, SessionInfo

_PAGE: Final = 200


class DatabaseTranscripts:
    """Sessions in OpenCode's database.

    Args:
        path: The database.
        now_ms: Returns the current time in UTC milliseconds.
    """

    def __init__(self, path: Path, *, now_ms: Callable[[], int]) -> None:
        self._path = path
        self._now_ms = now_ms

    def read_session(self, session: str) -> tuple[SessionInfo, tuple[Message, ...], int] | None:
        """Return a session, its complete messages in order, and the time of its last activity in UTC milliseconds.

        None if the session does not exist.

        Raises:
            StorageError: The file is missing, damaged or not readable.
            InvalidInputError: The file is not OpenCode's database.
        """
        with OpenCodeDatabase(self._path) as database:
            head = database.find_session(session)
            if head is None:
                return None
            messages: list[Message] = []
            cursor: str | None = None
            while True:
                page = database.messages(session, cursor, now_ms=self._now_ms(), limit=_PAGE)
                messages += page.messages
                if page.is_end or page.waits or page.cursor == cursor:
                    return head.info, tuple(messages), head.active_ms
                cursor = page.cursor
