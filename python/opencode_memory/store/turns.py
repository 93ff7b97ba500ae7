"""The session index: finds turns of a coding agent's sessions, whose text stays where it is.

The index holds where each turn stands, its terms and its vectors. Its text is read from the agent's own database when
a hit is shown, by a ``TurnTexts`` that the opener of the store provides. The index can be deleted and built again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, Protocol

from opencode_memory._core import redact
from opencode_memory.models import Hit, SessionHit, Turn
from opencode_memory.store import arguments, records
from opencode_memory.store.announcement import announces_change
from opencode_memory.store.found_turns import FoundTurns
from opencode_memory.text.clock import to_ms

if TYPE_CHECKING:
    from opencode_memory._core import Engine
    from opencode_memory.store.embedding_queue import EmbeddingQueue

_log: Final = logging.getLogger(__name__)
MOST_CHUNKS: Final = 2
"""Number of pieces of a long turn that get a vector. All its words are indexed."""
_DIGEST_BYTES: Final = 16
_SPARE: Final = 2
"""Turns are requested so many times as often as hits, because copies and turns without a text are left out."""
_MOST: Final = 1_000
_OPENING_TURNS: Final = 3
_PERSON: Final = "user"


class TurnTexts(Protocol):
    """Reads the texts of turns."""

    def read(self, turns: Sequence[Turn]) -> list[Turn | None]:
        """Return the turns with title and text, in order; None for those that must not be shown or do not exist."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to index.

    Attributes:
        message: Id of its message.
        speaker: ``user`` or ``assistant``.
        time: When it was said.
        text: Its text. Secrets are redacted before it is indexed; it is not stored.
    """

    message: str
    speaker: str
    time: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A session with the turns to add to the index.

    Attributes:
        database: The file that holds the session.
        session: Id of the session.
        project: Its project.
        mark: Version of the session that was read.
        cursor: Where reading continues.
        restart: Whether to drop what the index has of this session first.
        turns: The turns, in order.
    """

    database: str
    session: str
    project: str | None
    mark: str = ""
    cursor: str | None = None
    restart: bool = False
    turns: Sequence[NewTurn] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProgress:
    """How far a session was indexed; the attributes are those of ``SessionPage``."""

    session: str
    project: str | None
    mark: str
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCounts:
    """Size of the session index, and the databases whose sessions are in it."""

    sessions: int
    turns: int
    databases: tuple[str, ...]


def digest_of(text: str) -> bytes:
    """Return the hash that identifies the text of a turn."""
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


class Turns:
    """The session index of a store; ``MemoryStore.turns`` is one.

    Attributes:
        texts: Reads the texts of hits; without it, no turn is found.
    """

    def __init__(self, engine: Engine, queue: EmbeddingQueue) -> None:
        self._engine = engine
        self._queue = queue
        self.texts: TurnTexts | None = None
        self._last_warning: str | None = None

    def add(self, pages: Sequence[SessionPage]) -> bool:
        """Embed and index the turns of some pages.

        Returns:
            False if nothing was added: another process writes the index, or the index could not be used and was
            deleted. Then start again with ``progress``.

        Raises:
            EmbeddingError: The model fails.
        """
        embedder = self._queue.session_embedder()
        texts = [redact(turn.text)[0] for page in pages for turn in page.turns]
        chunks = [embedder.chunk(text)[:MOST_CHUNKS] for text in texts]
        vectors = embedder.embed([piece for pieces in chunks for piece in pieces])
        rows = iter(pairwise(accumulate((len(pieces) for pieces in chunks), initial=0)))
        ready = iter(texts)
        return self._engine.put_turns(
            embedder.model_id, [_page(page, [(next(ready), next(rows)) for _ in page.turns]) for page in pages], vectors
        )

    def drop(self, database: str, sessions: Sequence[str]) -> bool:
        """Drop sessions from the index; returns as ``add`` does."""
        return self._engine.drop_sessions(database, arguments.texts(sessions, field="sessions"))

    def clear(self) -> bool:
        """Delete the index; returns as ``add`` does."""
        return self._engine.drop_session_index()

    def progress(self, database: str) -> dict[str, SessionProgress]:
        """Return how far each session of a database was indexed."""
        found = self._engine.session_progress(database)
        return {
            session: SessionProgress(session=session, project=project, mark=mark, cursor=cursor)
            for session, project, mark, cursor in found
        }

    def message_ids(self, database: str, session: str) -> frozenset[str]:
        """Return the ids of the messages of a session that have turns in the index."""
        return frozenset(self._engine.turn_messages(database, session))

    def counts(self) -> TurnCounts:
        """Return the size of the index."""
        sessions, turns, databases = self._engine.turn_counts()
        return TurnCounts(sessions=sessions, turns=turns, databases=tuple(databases))

    def find(self, message: str) -> list[Turn]:
        """Return the turns of a message, with their texts. Ids of messages are unique in a database."""
        return self._read(self._engine.find_turns(arguments.text(message, field="message")))

    def around(self, turn: Turn, *, before: int, after: int) -> list[Turn]:
        """Return a turn with its neighbours in the session, in order, with their texts.

        Args:
            turn: The turn.
            before: Maximum number of turns before it.
            after: Maximum number of turns after it.
        """
        first, last = turn.position - before, turn.position + after
        found = self._engine.turns_of_session(turn.session, max(first, 0), last)
        return self._read([one for one in found if one["database"] == turn.database])

    def of_session(self, session: str, *, first: int = 0, limit: int = 20) -> list[Turn]:
        """Return turns of a session, in order, with their texts.

        Args:
            session: Id of the session.
            first: Position of the first turn; 0 is the beginning.
            limit: Maximum number of turns.
        """
        name = arguments.text(session, field="session")
        return self._read(self._engine.turns_of_session(name, first, first + limit - 1))

    def recall(self, query: str, selection: dict[str, Any], *, limit: int, explain: bool = False) -> list[SessionHit]:
        """Find turns by words and by meaning, best first, with their texts. Copies of a turn are left out.

        Args:
            query: Free text.
            selection: A selection of ``store.selection``; only its projects and times matter.
            limit: Maximum number of hits.
            explain: Whether hits carry their explanation.
        """
        if self.texts is None:
            return []
        vector = self._queue.embed_query(query, of_sessions=True)
        found = self._engine.recall_turns(query, vector, selection, min(_SPARE * limit, _MOST), explain)
        return self._collect(found, explain=explain).show(limit)

    def recall_with_memories(
        self, query: str, selection: dict[str, Any], *, limit: int, explain: bool, nearest: bool
    ) -> list[Hit | SessionHit]:
        """Find memories and turns in one ranked answer; see ``MemoryStore.recall`` for ``nearest``.

        If the session index cannot be searched, the answer has memories only, and a warning is logged once.
        """
        vectors = self._queue.embed_query(query), self._queue.embed_query(query, of_sessions=True)
        memories, turns, missing = self._engine.recall_all(
            query, *vectors, selection, limit, min(_SPARE * limit, _MOST), explain, nearest, nearest
        )
        if missing is not None and missing != self._last_warning:
            _log.warning("sessions were not searched: %s", missing)
        self._last_warning = missing
        return self._collect(turns, explain=explain).show_with_memories(memories, limit)

    def _collect(self, found: Sequence[dict[str, Any]], *, explain: bool) -> FoundTurns:
        return FoundTurns(found, self._show, self._announces_change, explain=explain)

    def _show(self, turns: Sequence[Turn]) -> list[Turn | None]:
        return [None] * len(turns) if self.texts is None else self.texts.read(turns)

    def _announces_change(self, hit: SessionHit) -> bool:
        """Return whether the first message of the user in a hit's session announces a change of a decision."""
        return self._engine.opening_announces(hit.turn.database, hit.turn.session, _PERSON, _OPENING_TURNS)

    def _read(self, found: Iterable[dict[str, Any]]) -> list[Turn]:
        return [turn for turn in self._show([records.turn(one) for one in found]) if turn is not None]


def _page(page: SessionPage, texts: list[tuple[str, tuple[int, int]]]) -> dict[str, Any]:
    return {
        "database": page.database,
        "session": page.session,
        "project": page.project,
        "mark": page.mark,
        "cursor": page.cursor,
        "restart": page.restart,
        "turns": [
            {
                "message": turn.message,
                "speaker": turn.speaker,
                "time": to_ms(turn.time),
                "text": text,
                "digest": digest_of(text),
                "announces": turn.speaker == _PERSON and announces_change(text),
                "rows": rows,
            }
            for turn, (text, rows) in zip(page.turns, texts, strict=True)
        ],
    }
