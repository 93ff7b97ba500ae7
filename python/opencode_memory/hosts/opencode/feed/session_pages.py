"""Opens single sessions of OpenCode's database and reads them page by page, to judge their memories again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.learning.extraction.events import Message, SessionInfo

_PAGE: Final = 200


class SessionPages:
    """Sessions of an open database.

    Args:
        database: The database; the caller closes it.
        now_ms: The current time, in UTC milliseconds.
    """

    def __init__(self, database: OpenCodeDatabase, *, now_ms: int) -> None:
        self._database = database
        self._now_ms = now_ms

    def open_session(self, session: str) -> tuple[SessionInfo, Iterator[Sequence[Message]]] | None:
        """Return a session and the pages of its complete messages; None if the database does not hold it."""
        head = self._database.find_session(session)
        return None if head is None else (head.info, self._read_pages(session))

    def _read_pages(self, session: str) -> Iterator[Sequence[Message]]:
        cursor: str | None = None
        while True:
            page = self._database.messages(session, cursor, now_ms=self._now_ms, limit=_PAGE)
            yield page.messages
            if page.is_end or page.waits or page.cursor == cursor:
                return
            cursor = page.cursor
