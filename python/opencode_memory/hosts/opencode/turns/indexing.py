"""Indexes the turns of OpenCode's sessions, a part of them at a time. Each session continues where it ended."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase, SessionHead
from opencode_memory.hosts.opencode.turns.texts import read_turn
from opencode_memory.learning.off_times import find_unread
from opencode_memory.projects.identity import real
from opencode_memory.store.arguments import moment
from opencode_memory.store.turns import NewTurn, SessionPage, SessionProgress

if TYPE_CHECKING:
    from opencode_memory.learning.switches import Switches
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.memory_store import MemoryStore

AT_ONCE: Final = 64
"""Number of turns that are indexed in one step, so that other jobs do not wait too long."""
_PAGE: Final = 100
# No session has this mark. So a session whose last page was not read, or is incomplete, is read again.
_READ_AGAIN: Final = ""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingReport:
    """Result of one step.

    Attributes:
        turns: Number of turns added.
        sessions_left: Number of sessions with turns that are not indexed yet.
        is_refused: Whether nothing was changed, because another process writes the index or it was deleted.
    """

    turns: int = 0
    sessions_left: int = 0
    is_refused: bool = False


class TurnIndexing:
    """Indexes the sessions of one database.

    Args:
        store: The store with the index.
        path: The database.
        projects: Finds the project of a folder.
        switches: Tell for which sessions learning is switched off; their turns are not indexed.
    """

    def __init__(self, store: MemoryStore, path: Path, *, projects: ProjectResolver, switches: Switches) -> None:
        self._store = store
        self._path = path
        self._name = str(real(path))
        self._projects = projects
        self._switches = switches

    def step(self, *, at_ms: int, keeps_on: Callable[[], bool] = lambda: True) -> IndexingReport:
        """Drop what was deleted or switched off, then add at most ``AT_ONCE`` turns.

        Args:
            at_ms: The current time, in UTC milliseconds.
            keeps_on: Called between sessions; if it returns false, the step ends.

        Raises:
            StorageError: The file is missing, damaged or not readable.
            InvalidInputError: The file is not OpenCode's database.
            EmbeddingError: The model fails.
        """
        known = self._store.turns.progress(self._name)
        with OpenCodeDatabase(self._path) as database:
            heads = {head.info.id: head for head in database.sessions()}
            shown, gone, news = self._compare(heads, known)
            if gone and not self._store.turns.drop(self._name, gone):
                return IndexingReport(is_refused=True)
            pages: list[SessionPage] = []
            added = done = 0
            for name in news:
                if added >= AT_ONCE or not keeps_on():
                    break
                of_session = list(
                    self._read(database, heads[name], shown[name], known.get(name), at_ms, AT_ONCE - added)
                )
                pages += filter(partial(_is_news, known=known.get(name)), of_session)
                added += sum(len(page.turns) for page in of_session)
                done += added < AT_ONCE
        if pages and not self._store.turns.add(pages):
            return IndexingReport(sessions_left=len(news), is_refused=True)
        return IndexingReport(turns=added, sessions_left=len(news) - done)

    def has_changes(self) -> bool:
        """Return whether a step has work. Reads only, and raises errors of the file as ``step`` does."""
        with OpenCodeDatabase(self._path) as database:
            heads = {head.info.id: head for head in database.sessions()}
        _, gone, news = self._compare(heads, self._store.turns.progress(self._name))
        return bool(gone or news)

    def _compare(
        self, heads: Mapping[str, SessionHead], known: Mapping[str, SessionProgress]
    ) -> tuple[dict[str, str | None], list[str], list[str]]:
        """Return the sessions to show with their projects, those to drop, and those with new turns."""
        shown: dict[str, str | None] = {}
        for name, head in heads.items():
            project = self._projects.of_session(head.info.directory)
            if not self._is_left_out(head, project):
                shown[name] = project
        gone = [name for name in known if name not in shown]
        news = [
            name
            for name, project in shown.items()
            if name not in known or (known[name].mark, known[name].project) != (heads[name].mark, project)
        ]
        return shown, gone, news

    def _is_left_out(self, head: SessionHead, project: str | None) -> bool:
        """Return whether a session is a subagent's, the product's own, or switched off."""
        info = head.info
        return (
            info.parent is not None
            or info.title.startswith(OWN_TITLE)
            or self._switches.skips(self._store, project, info)
        )

    def _read(
        self,
        database: OpenCodeDatabase,
        head: SessionHead,
        project: str | None,
        known: SessionProgress | None,
        at_ms: int,
        most: int,
    ) -> Iterator[SessionPage]:
        """Read pages of a session until it has given the wanted number of turns, or ends."""
        info = head.info
        indexed = self._store.turns.message_ids(self._name, info.id)
        restart = not indexed <= database.message_ids(info.id)  # A message was deleted.
        cursor = None if known is None or restart else known.cursor
        while most > 0:
            page = database.messages(info.id, cursor, now_ms=at_ms, limit=_PAGE)
            is_last = page.is_end or page.waits or page.cursor == cursor
            cursor = page.cursor
            # After a message was inserted before the cursor, the session is read from its beginning.
            restart = restart or any(message.id in indexed for message in page.messages)
            indexed = frozenset()
            unread = {
                message.id
                for message in find_unread(self._store, page.messages, source="opencode", project=project, session=info)
            }
            turns = [
                NewTurn(message=message.id, speaker=said[0], time=moment(message.at_ms), text=said[1])
                for message in page.messages
                if message.id not in unread and (said := read_turn(message)) is not None
            ]
            yield SessionPage(
                database=self._name,
                session=info.id,
                project=project,
                mark=head.mark if is_last and not page.waits else _READ_AGAIN,
                cursor=cursor,
                restart=restart,
                turns=turns,
            )
            if is_last:
                return
            restart = False
            most -= len(turns)


def _is_news(page: SessionPage, known: SessionProgress | None) -> bool:
    """Return whether a page changes the index. A session with an incomplete message is read again and again."""
    state = (page.project, page.mark, page.cursor)
    return bool(page.turns) or page.restart or known is None or state != (known.project, known.mark, known.cursor)
