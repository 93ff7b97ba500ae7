"""Learns from the sessions in OpenCode's database. Each session is continued where the last reading ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase, SessionHead
from opencode_memory.hosts.opencode.feed.pages import Page
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.learner import Learner, LearningResult
from opencode_memory.learning.off_times import find_unread
from opencode_memory.learning.switches import Switches
from opencode_memory.learning.undone import forget_missing, note_undone
from opencode_memory.projects.identity import real
from opencode_memory.store.learning_state import Progress

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import Message
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 200
# No session has this mark. So a session with an incomplete message is read again although the database is unchanged.
_READ_AGAIN: Final = ""
_RESTING: Final = ":rests"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCodeReport:
    """Result of a reading, over all sessions.

    Attributes:
        sessions: Number of sessions with new messages.
        messages: Number of counted messages.
        active: Ids of memories that are active now.
        waiting: Ids of memories that wait for the user's review.
        folders: Folders of the sessions with learned memories, with their projects.
        directories: Folders of all sessions with new messages.
    """

    sessions: int
    messages: int
    active: tuple[str, ...]
    waiting: tuple[str, ...]
    folders: tuple[tuple[str, str | None], ...]
    directories: tuple[str, ...]


class OpenCodeReading:
    """One reading of a database.

    Args:
        store: Receives the learned memories.
        path: The database.
        projects: Finds the project of a folder.
        switches: Tell for which sessions learning is switched off.
        rest_ms: A session without messages for this long is at rest; 0 treats every session as at rest.
        is_requested: Whether the user requested this reading, which needs no switched-on source.
        on_rest: Called with a session that is at rest, before its last messages are learned from.
    """

    def __init__(
        self,
        store: MemoryStore,
        path: Path,
        *,
        projects: ProjectResolver,
        switches: Switches,
        rest_ms: int,
        is_requested: bool = False,
        on_rest: Callable[[SessionHead], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._path = path
        self._feed = f"opencode:{real(path)}"
        self._learner = Learner(store, languages=switches.languages)
        self._projects = projects
        self._switches = switches
        self._rest_ms = rest_ms
        self._is_requested = is_requested
        self._on_rest = on_rest
        self._switched = store

    def continue_from(self, store: MemoryStore) -> None:
        """Continue from another store's progress, with its switches. Used to preview the next memories."""
        self._switched = store
        for session, progress in store.learning.progress(self._feed).items():
            self._store.learning.set_progress(self._feed, session, progress)

    def read(
        self,
        *,
        at_ms: int,
        progress: Callable[[int, int], None] | None = None,
        keeps_on: Callable[[], bool] = lambda: True,
    ) -> OpenCodeReport:
        """Read the new messages of all sessions.

        Args:
            at_ms: The current time, in UTC milliseconds.
            progress: Called with the number of sessions read so far, and the number of all.
            keeps_on: Called between batches. If it returns false, the reading ends, and the next one continues there.

        Raises:
            StorageError: The file is missing, damaged or not readable.
            InvalidInputError: The file is not OpenCode's database.
        """
        known = self._store.learning.progress(self._feed)
        learned: list[LearningResult] = []
        folders: dict[str, str | None] = {}
        with OpenCodeDatabase(self._path) as database:
            heads = [head for head in database.sessions() if self._is_news(head, known.get(head.info.id), at_ms)]
            for number, head in enumerate(heads):
                if not keeps_on():
                    break
                try:
                    of_session = self._read_session(database, head, known.get(head.info.id), at_ms, keeps_on)
                except InvalidInputError as error:
                    # If one session cannot be stored, still read the others.
                    _log.warning("skipped session %s: %s", head.info.id, error)
                    continue
                learned += of_session
                if any(result.active or result.waiting for result in of_session):
                    folders[head.info.directory] = self._projects.of_session(head.info.directory)
                if progress is not None:
                    progress(number + 1, len(heads))
        return OpenCodeReport(
            sessions=len(heads),
            messages=sum(result.messages for result in learned),
            active=tuple(dict.fromkeys(id_ for result in learned for id_ in result.active)),
            waiting=tuple(dict.fromkeys(id_ for result in learned for id_ in result.waiting)),
            folders=tuple(folders.items()),
            directories=tuple(dict.fromkeys(head.info.directory for head in heads)),
        )

    def has_news(self, *, at_ms: int) -> bool:
        """Return whether a reading has work. Reads only, and raises errors of the file as ``read`` does."""
        known = self._store.learning.progress(self._feed)
        with OpenCodeDatabase(self._path) as database:
            return any(self._is_news(head, known.get(head.info.id), at_ms) for head in database.sessions())

    def _is_news(self, head: SessionHead, known: Progress | None, at_ms: int) -> bool:
        if head.info.title.startswith(OWN_TITLE):
            return False  # The next start of OpenCode deletes it.
        if known is None or known.mark.removesuffix(_RESTING) != head.mark:
            return True
        # All messages were read, and the session has come to rest since.
        return not known.mark.endswith(_RESTING) and self._rests(head, at_ms)

    def _rests(self, head: SessionHead, at_ms: int) -> bool:
        return at_ms - head.active_ms >= self._rest_ms

    def _read_session(
        self,
        database: OpenCodeDatabase,
        head: SessionHead,
        known: Progress | None,
        at_ms: int,
        keeps_on: Callable[[], bool],
    ) -> list[LearningResult]:
        cursor = None if known is None else known.cursor
        found: list[LearningResult] = []
        while True:
            # Do this for each page, because the user may rename the project or switch learning off meanwhile.
            project = self._projects.of_session(head.info.directory)
            passes_over = self._switches.skips(self._switched, project, head.info)
            page = database.messages(head.info.id, cursor, now_ms=at_ms, limit=_PAGE)
            is_last = page.is_end or page.cursor == cursor
            rests = is_last and not page.waits and self._rests(head, at_ms)
            mark = _READ_AGAIN if not is_last or page.waits else head.mark + (_RESTING if rests else "")
            cursor = page.cursor
            reached = Progress(mark=mark, cursor=cursor)
            self._note_undone(database, head, page, project)
            if passes_over:
                self._learner.skip(head.info, page.messages, feed=self._feed, progress=reached)
            else:
                self._skip_unread(head, page.messages, project)
                if rests:
                    self._on_rest(head)
                found.append(
                    self._learner.process(
                        head.info,
                        page.messages,
                        project=project,
                        at_ms=at_ms,
                        work_tree=self._projects.work_tree_of_session(head.info.directory),
                        is_idle=rests,
                        feed=self._feed,
                        progress=reached,
                    )
                )
            if is_last or not keeps_on():
                return found

    def _note_undone(self, database: OpenCodeDatabase, head: SessionHead, page: Page, project: str | None) -> None:
        session = head.info.id
        forget_missing(self._store, session, lambda: database.message_ids(session))
        undone = UndoneMessages(since=page.undone_since, is_certain=False)
        note_undone(self._store, session, undone, project=project)

    def _skip_unread(self, head: SessionHead, messages: Sequence[Message], project: str | None) -> None:
        """Mark messages of a time when learning was off, so that they are not read."""
        unread = find_unread(
            self._switched,
            messages,
            source="opencode",
            project=project,
            session=head.info,
            is_requested=self._is_requested,
        )
        if unread:
            self._learner.skip(head.info, unread)
