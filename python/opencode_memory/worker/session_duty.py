"""The duty that indexes the turns of OpenCode's sessions, some at a time, so that other jobs run in between."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import EmbeddingError, InvalidInputError, StorageError
from opencode_memory.hosts.opencode.feed.database import default_database
from opencode_memory.hosts.opencode.feed.sqlite_reader import UnreadableError
from opencode_memory.hosts.opencode.turns.indexing import TurnIndexing
from opencode_memory.text.clock import to_ms
from opencode_memory.worker.duty import REFUSED_SECONDS, Duty, PostponedError, Work, look_every

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.learning.switches import Switches
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.memory_store import MemoryStore

SESSIONS: Final = "sessions"
_REFUSED_SECONDS: Final = 5.0
_UNREADABLE_SECONDS: Final = 300.0
_MODEL_FAILS_SECONDS: Final = 60.0

_log: Final = logging.getLogger(__name__)


def find_database(config: Config) -> Path | None:
    """Return OpenCode's database, from the settings or where OpenCode keeps it; None if there is none."""
    path = config.learning.opencode_db or default_database(config.environment)
    return path if path is not None and path.exists() else None


class SessionDuty:
    """Indexes the sessions of the configured database while learning from it is switched on.

    Args:
        config: The configuration.
        projects: Finds the project of a folder.
        switches: The switches of learning.
    """

    def __init__(self, config: Config, projects: ProjectResolver, switches: Switches) -> None:
        self._config = config
        self._projects = projects
        self._switches = switches

    def duty(self) -> Duty:
        """Return the duty."""
        is_due = look_every(self._config.learning.poll_seconds, self._has_changes)
        return Duty(kind=SESSIONS, do=self._index, is_due=is_due)

    def _find_database(self) -> Path | None:
        """Return the database; None if there is none, or if it must not be read."""
        return find_database(self._config) if self._switches.is_enabled("opencode") else None

    def _has_changes(self, store: MemoryStore) -> bool:
        path = self._find_database()
        try:
            if path is None:
                return store.turns.counts().sessions > 0
            return TurnIndexing(store, path, projects=self._projects, switches=self._switches).has_changes()
        except (StorageError, InvalidInputError):
            return True  # The job reports the reason.

    def _index(self, work: Work) -> datetime | None:
        path = self._find_database()
        if path is None:
            work.store.turns.clear()
            return None
        indexing = TurnIndexing(work.store, path, projects=self._projects, switches=self._switches)

        def keeps_on() -> bool:
            work.renew_lease()
            return True

        try:
            report = indexing.step(at_ms=to_ms(work.at), keeps_on=keeps_on)
        except (StorageError, InvalidInputError) as error:
            reason = f"the sessions cannot be indexed: {error}"
            # An error of our own files, most likely a full disk, needs no longer pause than for other jobs.
            is_unreadable = isinstance(error, UnreadableError | InvalidInputError)
            seconds = _UNREADABLE_SECONDS if is_unreadable else REFUSED_SECONDS
            raise PostponedError(reason, seconds=seconds, is_warning=True) from error
        except EmbeddingError as error:
            raise PostponedError(str(error), seconds=_MODEL_FAILS_SECONDS, is_warning=True) from error
        if report.is_refused:
            raise PostponedError("another process writes the session index", seconds=_REFUSED_SECONDS)
        if report.turns:
            _log.info("indexed %d turns; %d sessions are left", report.turns, report.sessions_left)
        return work.at if report.turns and report.sessions_left else None
