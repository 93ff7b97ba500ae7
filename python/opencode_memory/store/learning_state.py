"""What the store keeps of sessions that are learned from, and how a stretch of one is written: all of it, or nothing.

Nothing here knows what is worth learning; ``learning`` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from opencode_memory.models import NewMemory, RememberResult, RememberStatus
from opencode_memory.store import arguments, records

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_KEY_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a feed was read in a session.

    Attributes:
        mark: What the feed said of the session when it was read; another mark means news.
        cursor: Where to read on; None for the beginning.
    """

    mark: str
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a stretch of a session came to.

    Attributes:
        session: Which session.
        version: Its version when it was read.
        state: What is open in it now, JSON.
        processed: Names of the messages that this batch processes.
        sightings: What was seen how often, by project.
        memories: What is remembered.
        feed: Which feed was read with this, if one was.
        progress: And how far.
    """

    session: str
    version: int
    state: str
    processed: Sequence[str] = ()
    sightings: Sequence[tuple[str | None, str, int]] = ()
    memories: Sequence[NewMemory] = ()
    feed: str | None = None
    progress: Progress | None = None


class LearningState:
    """What was processed of each session; ``MemoryStore.learning`` is one."""

    def __init__(self, engine: Engine, zone: tzinfo | None, on_write: Callable[[], None]) -> None:
        self._engine = engine
        self._zone = zone
        self._on_write = on_write

    def open(self, session: str) -> tuple[int, str]:
        """Return a session's version and what is open in it; 0 and ``{}`` before its first message."""
        return self._engine.learning(arguments.text(session, field="session")) or (0, "{}")

    def are_processed(self, messages: Sequence[str]) -> list[bool]:
        """Say which messages have counted."""
        return self._engine.counted([_key(name) for name in messages])

    def seen_elsewhere(self, project: str | None, what: Sequence[str], session: str) -> list[int]:
        """Say in how many other sessions of a project each of these was seen."""
        return self._engine.seen_elsewhere(project, arguments.texts(what, field="what"), session)

    def progress(self, feed: str) -> dict[str, Progress]:
        """Return how far a feed was read, by session."""
        return {
            session: Progress(mark=mark, cursor=cursor) for session, mark, cursor in self._engine.feed_progress(feed)
        }

    def set_progress(self, feed: str, session: str, progress: Progress) -> None:
        """Note how far a feed was read where there was nothing to learn."""
        self._engine.set_feed_progress(feed, session, progress.mark, progress.cursor)

    def write(self, batch: Batch) -> list[RememberResult]:
        """Write what a stretch of a session came to.

        Raises:
            ConflictError: Another process has read the session on meanwhile: read it again.
        """
        now_ms = self._engine.now_ms()
        written = self._engine.learn(
            {
                "session": batch.session,
                "version": batch.version,
                "state": batch.state,
                "counted": [_key(name) for name in batch.processed],
                "sightings": list(batch.sightings),
                "memories": [
                    records.new_memory(one, project=None, now_ms=now_ms, zone=self._zone) for one in batch.memories
                ],
                "progress": None
                if batch.feed is None or batch.progress is None
                else (batch.feed, batch.progress.mark, batch.progress.cursor),
            }
        )
        if written:
            self._on_write()
        return [
            RememberResult(id=id_, status=RememberStatus(status), redactions=tuple(redactions))
            for id_, status, redactions in written
        ]


def _key(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_KEY_BYTES).digest()
