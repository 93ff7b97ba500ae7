"""Persistent state of session learning. Each batch of processed messages is written in one transaction.

This module does not decide what is worth learning; ``learning`` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from opencode_memory.models import NewMemory, RememberResult
from opencode_memory.store import arguments, records

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_KEY_BYTES: Final = 16
SAID_LATER: Final = "said_later"
"""Kind of the link from a later sentence of the user to the earlier statement that it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Position of a feed in a session.

    Attributes:
        mark: The feed's version of the session when it was read; if it differs, there are new messages.
        cursor: Where to continue; None for the beginning.
    """

    mark: str
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The result of processing some messages of a session.

    Attributes:
        session: The id of the session.
        version: Its version when it was read.
        state: The state of its extraction after the batch, as JSON.
        processed: Names of the messages that this batch processes.
        sightings: How often a statement was seen, by project; a negative number takes sightings back.
        memories: The memories to write.
        links: Links from these memories: number in ``memories``, id of a stored memory or number of another new one,
            kind, reason.
        feed: The feed that the messages came from, if any.
        progress: The position of the feed after the batch.
    """

    session: str
    version: int
    state: str
    processed: Sequence[str] = ()
    sightings: Sequence[tuple[str | None, str, int]] = ()
    memories: Sequence[NewMemory] = ()
    links: Sequence[tuple[int, str | int, str, str]] = ()
    feed: str | None = None
    progress: Progress | None = None


class SubjectRelation(StrEnum):
    """Relation of a sentence to a stored memory on the same subject."""

    REPLACES = "replaces"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SameSubject:
    """An active memory that a sentence would change.

    Attributes:
        id: The memory.
        relation: Whether the sentence would replace the memory, or only contradict it.
        reason: Why, for the user.
        content: The text of the memory.
    """

    id: str
    relation: SubjectRelation
    reason: str
    content: str


class LearningState:
    """The processed messages of each session; ``MemoryStore.learning`` is one."""

    def __init__(self, engine: Engine, zone: tzinfo | None, on_write: Callable[[], None]) -> None:
        self._engine = engine
        self._zone = zone
        self._on_write = on_write

    def open(self, session: str) -> tuple[int, str]:
        """Return the version and the extraction state of a session; 0 and ``{}`` before its first message."""
        return self._engine.learning(arguments.text(session, field="session")) or (0, "{}")

    def are_processed(self, messages: Sequence[str]) -> list[bool]:
        """Return for each message whether it was processed."""
        return self._engine.counted([_key(name) for name in messages])

    def seen_elsewhere(self, project: str | None, what: Sequence[str], session: str) -> list[int]:
        """Return in how many other sessions of a project each statement was seen."""
        return self._engine.seen_elsewhere(project, arguments.texts(what, field="what"), session)

    def find_from_messages(self, session: str, messages: Sequence[str], *, since: str | None = None) -> list[str]:
        """Return the ids of the active and waiting memories from some messages of a session, the oldest first.

        Args:
            session: The session.
            messages: Ids of its messages.
            since: Also those from this message and later ones; None for none.
        """
        return self._engine.ids_from_messages(
            arguments.text(session, field="session"), arguments.texts(messages, field="messages"), since
        )

    def find_same_subject(self, text: str, project: str | None) -> SameSubject | None:
        """Return the active memory that a sentence would replace, or else one that it would contradict.

        Found by words, so memories that have no vectors yet are found as well.

        Args:
            text: The sentence.
            project: The project of the sentence; None for a global one. A sentence of a project may only contradict a
                global memory, and a global sentence is compared with global memories only.

        Raises:
            InvalidInputError: The text is empty or too long.
        """
        found = self._engine.find_same_subject(arguments.text(text, field="text"), project)
        if found is None:
            return None
        id_, relation, reason, content = found
        return SameSubject(id=id_, relation=SubjectRelation(relation), reason=reason, content=content)

    def progress(self, feed: str) -> dict[str, Progress]:
        """Return the position of a feed, by session."""
        return {
            session: Progress(mark=mark, cursor=cursor) for session, mark, cursor in self._engine.feed_progress(feed)
        }

    def set_progress(self, feed: str, session: str, progress: Progress) -> None:
        """Store the position of a feed after messages that were skipped."""
        self._engine.set_feed_progress(feed, session, progress.mark, progress.cursor)

    def write(self, batch: Batch) -> list[RememberResult]:
        """Write the result of a batch.

        Raises:
            ConflictError: Another process has processed messages of the session meanwhile; read it again.
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
                    records.new_memory(memory, project=None, now_ms=now_ms, zone=self._zone)
                    for memory in batch.memories
                ],
                "links": list(batch.links),
                "progress": None
                if batch.feed is None or batch.progress is None
                else (batch.feed, batch.progress.mark, batch.progress.cursor),
            }
        )
        if written:
            self._on_write()
        return [records.remember_result(*found) for found in written]


def _key(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_KEY_BYTES).digest()
