"""Learning from events while they happen: what one connection of the plugin forwards.

The end of a turn is no end of what a person has to say about it, so a session rests only after a while, as it does when
it is read from the database; whichever comes first lets it rest, and each message counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from opencode_memory.hosts.opencode.feed.event_stream import Batch, LiveFeed
from opencode_memory.learning.learner import Learner, LearningResult

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import SessionInfo
    from opencode_memory.learning.switches import Switches
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.memory_store import MemoryStore

REST: Final = "rest"
"""The kind of job that lets a session rest."""


class LiveLearning:
    """What is learned from one connection.

    Args:
        store: Where it is learned to.
        projects: Whose project a folder is.
        switches: Where nothing is learned.
        rest_seconds: After so long a session rests.
        on_batch: Is told of every batch, whether anything is learned of it or not.
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
        self._learner = Learner(store)

    def take(self, params: object, *, at_ms: int) -> list[LearningResult]:
        """Take the parameters of an ``events`` notification; returns what each session came to.

        Args:
            params: As ``ingest.live`` documents them.
            at_ms: The present moment.

        Raises:
            InvalidInputError: They are no such parameters.
            BusyError: Other processes read the same session all the time.
        """
        batches = self._feed.take(params)
        if not self._switches.is_enabled("live"):
            for batch in batches:
                self._on_batch(batch)
            return []
        learned = []
        for batch in batches:
            self._on_batch(batch)
            project = self._projects.of_session(batch.session.directory)
            if self._switches.skips(self._store, project, batch.session):
                self._learner.skip(batch.session, batch.messages)
                continue
            learned.append(self._learner.process(batch.session, batch.messages, project=project, at_ms=at_ms))
            if batch.ended:
                self._ask_for_rest(batch.session, at_ms)
        return learned

    def rest(self, session: str, *, at_ms: int) -> bool:
        """Let a session rest at once, as far as it was seen; whether anything was learned."""
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
        learned = self._learner.process(batch.session, batch.messages, project=project, at_ms=at_ms, is_idle=True)
        return bool(learned.active)

    def _ask_for_rest(self, session: SessionInfo, at_ms: int) -> None:
        # A job that waits already gets the new moment, and is put off by it.
        payload = {
            "directory": session.directory,
            "parent": session.parent,
            "title": session.title,
            "active_ms": at_ms,
        }
        self._store.jobs.enqueue(REST, session.id, payload=payload, delay_seconds=self._rest_seconds)
