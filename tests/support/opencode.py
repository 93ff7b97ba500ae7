"""Databases of OpenCode: recorded ones, and new ones that tests write with OpenCode's schema."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.pages import Page
from opencode_memory.learning.extraction.events import Message

DATA: Final = Path(__file__).parent.parent / "data" / "opencode"
FIRST_ENGINE: Final = DATA / "first-engine.db"
SECOND_ENGINE: Final = DATA / "second-engine.db"
FORKS: Final = DATA / "forks.db"
EVENTS: Final = DATA / "events.jsonl"
LONG_AFTER_MS: Final = 4_000_000_000_000
"""A time when all messages in these databases are complete."""


def page_ids(page: Page) -> list[str]:
    """Return the ids of a page's messages."""
    return [message.id for message in page.messages]


def said(messages: Sequence[Message]) -> list[str]:
    """Return the texts of messages that have only texts."""
    return [event.text for message in messages for event in message.events]


class FakeOpenCode:
    """Writes to a database of OpenCode's schema, row by row and committed at once, as OpenCode does."""

    def __init__(self, path: Path) -> None:
        shutil.copyfile(FIRST_ENGINE, path)
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=OFF")
        for table in ("part", "message", "session_message", "todo", "session"):
            self.connection.execute(f"DELETE FROM {table}")
        self.project = self.connection.execute("SELECT id FROM project").fetchone()[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def session(
        self, id: str, *, at: int = 1_000, parent: str | None = None, title: str = "A title", table: str = "session"
    ) -> str:
        self.connection.execute(
            f"INSERT INTO {table} (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)"
            " VALUES (?, ?, ?, 'slug', '/home/ann/shop', ?, '1.18.33', ?, ?)",
            (id, self.project, parent, title, at, at),
        )
        return id

    def message(
        self,
        session: str,
        id: str,
        data: Mapping[str, Any] | str,
        parts: Sequence[Mapping[str, Any] | str] = (),
        *,
        at: int,
        touched: int | None = None,
    ) -> str:
        """Write a message and its parts. A text instead of an object is written unchanged."""
        touched = at if touched is None else touched
        self.connection.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id, session, at, touched, _written(data))
        )
        for number, part in enumerate(parts):
            self.part(session, id, f"prt_{id}_{number:03}", part, at=touched)
        return id

    def part(self, session: str, message: str, id: str, data: Mapping[str, Any] | str, *, at: int) -> None:
        self.connection.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (id, message, session, at, at, _written(data))
        )

    def user(self, session: str, id: str, text: str, *, at: int) -> str:
        return self.message(
            session, id, {"role": "user", "time": {"created": at}}, [{"type": "text", "text": text}], at=at
        )

    def agent(self, session: str, id: str, text: str, *, at: int, is_finished: bool = True) -> str:
        parts: list[Mapping[str, Any]] = [{"type": "step-start"}, {"type": "text", "text": text}]
        info: dict[str, Any] = {"role": "assistant", "mode": "build", "agent": "build", "time": {"created": at}}
        if is_finished:
            info |= {"finish": "stop", "time": {"created": at, "completed": at}}
            parts.append({"type": "step-finish", "reason": "stop"})
        return self.message(session, id, info, parts, at=at)

    def finish(self, id: str, *, at: int) -> None:
        """Finish a message of the agent that was written unfinished."""
        (session, written) = self.connection.execute(
            "SELECT session_id, data FROM message WHERE id = ?", (id,)
        ).fetchone()
        data = json.loads(written)
        data |= {"finish": "stop", "time": data["time"] | {"completed": at}}
        self.part(session, id, f"prt_{id}_999", {"type": "step-finish", "reason": "stop"}, at=at)
        self.connection.execute(
            "UPDATE message SET data = ?, time_updated = ? WHERE id = ?", (json.dumps(data), at, id)
        )

    def second(self, session: str, id: str, kind: str, data: Mapping[str, Any] | str, *, seq: int, at: int) -> str:
        """Write a row of the second engine."""
        self.connection.execute(
            "INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", (id, session, kind, seq, at, at, _written(data))
        )
        return id


def all_messages(database: OpenCodeDatabase, session: str, *, limit: int = 200) -> list[Message]:
    """Read a session to its end."""
    return list(_pages(database, session, limit))


def _pages(database: OpenCodeDatabase, session: str, limit: int) -> Iterator[Message]:
    cursor = None
    while True:
        page = database.messages(session, cursor, now_ms=LONG_AFTER_MS, limit=limit)
        yield from page.messages
        if page.is_end:
            return
        assert page.cursor != cursor, "a page that is not the last one goes on"
        cursor = page.cursor


def _written(data: Mapping[str, Any] | str) -> str:
    return data if isinstance(data, str) else json.dumps(data)
