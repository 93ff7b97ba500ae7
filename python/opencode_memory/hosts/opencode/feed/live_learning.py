"""Learns from the events that one connection of the plugin forwards, while they happen.

The user may comment on a turn after its end, so a session is at rest only after a while. The same holds for sessions
that are read from the database. The feed that comes first lets the session rest, and each message counts once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.feed.event_stream import Batch, LiveFeed
from opencode_memory.learning.extraction.events import SessionInfo, UndoneMessages
from opencode_memory.learning.off_times import find_unread
from opencode_memory.learning.undone import find_pending, is_settled, note_undone

if TYPE_CHECKING:
    from opencode_memory.learning.learner import Learner, LearningResult
    from opencode_memory.learning.switches import Switches
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.jobs import Job
    from opencode_memory.store.memory_store import MemoryStore

_log: Final = logging.getLogger(__name__)
REST: Final = "rest"
"""Kind of the job that lets a session rest."""
_MOST_JOBS: Final = 500
_MOST_OTHERS: Final = 5
"""Sessions that a new session lets rest; each takes some milliseconds before its first message."""


class LiveLearning:
    """Learns from one connection.

    Args:
        store: Receives the learned memories.
        projects: Finds the project of a folder.
        switches: Tell for which sessions learning is switched off.
        rest_seconds: Time without activity until a session is at rest.
        on_batch: Called with every batch, even if learning is switched off.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        projects: ProjectResolver,
        switches: Switches,
        rest_seconds: float,
        on_batch: Callable[[Batch], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._projects = projects
        self._switches = switches
        self._rest_seconds = rest_seconds
        self._on_batch = on_batch
        self._feed = LiveFeed()
        # Notes of undone messages that could not be written yet, by session.
        self._missed: dict[str, list[UndoneMessages]] = {}

    @cached_property
    def _learner(self) -> Learner:
        from opencode_memory.learning.learner import Learner  # noqa: PLC0415  slow to import, and no answer needs it

        return Learner(self._store, languages=self._switches.languages)

    def take(self, params: object, *, at_ms: int) -> list[LearningResult]:
        """Process the parameters of an ``events`` notification and return the result for each session.

        Args:
            params: The parameters; ``event_stream`` documents them.
            at_ms: The current time, in UTC milliseconds.

        Raises:
            InvalidInputError: The parameters are invalid.
            BusyError: Other processes keep reading the same session.
        """
        is_on = self._switches.is_enabled("live")
        learned = []
        for batch in self._feed.take(params):
            self._on_batch(batch)
            if batch.undone is None and not is_on:
                continue
            project = self._projects.of_session(batch.session.directory)
            if batch.undone is not None:
                # Also if learning was switched off since the messages were read.
                self._note_undone(batch.session.id, batch.undone, project)
                # OpenCode says of a redo only that it happened: the session does not become idle again.
                if is_on and batch.undone.since is None and find_pending(self._store, batch.session.id):
                    self._ask_for_rest(batch.session, at_ms)
                continue
            if self._switches.skips(self._store, project, batch.session):
                self._learner.skip(batch.session, batch.messages)
                continue
            self._settle_undone(batch.session.id, project)
            self._skip_unread(batch, project)
            learned.append(self._process(batch, project, at_ms))
            self._take_back_late(batch.session.id, project)
            if batch.ended:
                self._ask_for_rest(batch.session, at_ms)
        return learned

    def _process(self, batch: Batch, project: str | None, at_ms: int, *, is_idle: bool = False) -> LearningResult:
        return self._learner.process(
            batch.session,
            batch.messages,
            project=project,
            at_ms=at_ms,
            work_tree=self._projects.work_tree_of_session(batch.session.directory),
            is_idle=is_idle,
        )

    def rest(self, session: str, *, at_ms: int) -> bool:
        """Let a session rest now, with the messages seen so far. Return whether a memory was learned."""
        batch = self._feed.cut_short(session)
        if batch is None:
            return False
        self._on_batch(batch)
        if not self._switches.is_enabled("live"):
            return False
        project = self._projects.of_session(batch.session.directory)
        if self._switches.skips(self._store, project, batch.session):
            self._learner.skip(batch.session, batch.messages)
            return False
        self._settle_undone(session, project)
        self._skip_unread(batch, project)
        learned = self._process(batch, project, at_ms, is_idle=True)
        return bool(learned.active)

    def rest_others(self, session: str, directory: str, *, at_ms: int) -> bool:
        """Let the other idle sessions of a project rest. Return whether a memory was learned.

        If the user begins a session instead of commenting on the last turn, the new session should know what was said
        there. Its brief comes only once, so it would go on showing a decision that was replaced.

        Args:
            session: The session that begins.
            directory: Its folder.
            at_ms: The current time, in UTC milliseconds.
        """
        if not self._switches.is_enabled("live"):
            return False
        project = self._projects.of_session(directory)
        jobs = [job for job in self._store.jobs.list(limit=_MOST_JOBS) if job.kind == REST and job.subject != session]
        jobs.sort(key=lambda job: int(job.payload["active_ms"]))
        # Oldest first, because a later statement may replace an earlier one.
        learned = [self._try_rest(job, project, at_ms) for job in jobs[-_MOST_OTHERS:]]
        return any(learned)

    def _try_rest(self, job: Job, project: str | None, at_ms: int) -> bool:
        """Let an idle session rest, unless that fails; its job tries again when it is due."""
        try:
            return self._rest_idle(job, project, at_ms)
        except (OpencodeMemoryError, OSError) as error:
            # For example, its folder is on a server that cannot be reached.
            _log.warning("nothing was learned yet from session %s: %s", job.subject, error)
            return False

    def _rest_idle(self, job: Job, project: str | None, at_ms: int) -> bool:
        given = job.payload
        info = SessionInfo(id=job.subject, directory=given["directory"], parent=given["parent"], title=given["title"])
        if info.parent is not None or self._projects.of_session(info.directory) != project:
            return False
        pending = find_pending(self._store, info.id)
        # What was said in a turn that still runs may be withdrawn, or explained by what the agent does.
        if not pending or any(candidate.at_ms > given["active_ms"] for candidate in pending):
            return False
        if self._switches.skips(self._store, project, info):
            return False
        work_tree = self._projects.work_tree_of_session(info.directory)
        learned = self._learner.process(info, (), project=project, at_ms=at_ms, work_tree=work_tree, is_idle=True)
        return bool(learned.active)

    def _note_undone(self, session: str, undone: UndoneMessages | None, project: str | None) -> None:
        """Note what the user has undone, after what could not be noted before, for example because of a lock."""
        waiting = [*self._missed.get(session, ()), *((undone,) if undone is not None else ())]
        while waiting:
            self._missed[session] = waiting
            note_undone(self._store, session, waiting[0], project=project)
            waiting = waiting[1:]
        self._missed.pop(session, None)

    def _settle_undone(self, session: str, project: str | None) -> None:
        """Store what OpenCode says is undone, if the stored state says otherwise.

        Another feed may have read a copy of the database that was made while messages were undone.
        """
        self._note_undone(session, None, project)
        since = self._feed.find_undone_since(session)
        if not is_settled(self._store, session, since):
            self._note_undone(session, UndoneMessages(since=since), project)

    def _take_back_late(self, session: str, project: str | None) -> None:
        """Take back what undone messages did of which OpenCode told only after the undo."""
        if (since := self._feed.find_undone_since(session)) is not None:
            self._note_undone(session, UndoneMessages(since=since), project)

    def _skip_unread(self, batch: Batch, project: str | None) -> None:
        """Mark messages of a time when learning was off, so that they are not read."""
        unread = find_unread(self._store, batch.messages, source="live", project=project, session=batch.session)
        if unread:
            self._learner.skip(batch.session, unread)

    def _ask_for_rest(self, session: SessionInfo, at_ms: int) -> None:
        # If a job is already queued, it is postponed and gets the new time.
        payload = {
            "directory": session.directory,
            "parent": session.parent,
            "title": session.title,
            "active_ms": at_ms,
        }
        self._store.jobs.enqueue(REST, session.id, payload=payload, delay_seconds=self._rest_seconds)
