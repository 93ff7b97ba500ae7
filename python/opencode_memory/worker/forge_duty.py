"""Duty of forges: fetches the items that memories name, some at a time, if the user has set ``forge.enabled``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.text import clock
from opencode_memory.worker.duty import Duty, PostponedError, Work, look_every

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.forges import Enricher
    from opencode_memory.store.memory_store import MemoryStore

FORGES: Final = "forges"
_LOOK_SECONDS: Final = 600.0
_INVALID_SECONDS: Final = 3600.0
_AT_ONCE: Final = 50
"""Maximum number of requests in one job, so that jobs of other kinds do not wait too long."""

_log: Final = logging.getLogger(__name__)


class ForgeDuty:
    """Fetches items of all projects.

    Args:
        config: The configuration.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def duties(self) -> tuple[Duty, ...]:
        """Return the duty if it is enabled."""
        if not self._config.forge.enabled:
            return ()
        return (Duty(kind=FORGES, do=self._fetch, is_due=look_every(_LOOK_SECONDS, self._has_due)),)

    def _has_due(self, store: MemoryStore) -> bool:
        try:
            enricher = self._open(store)
        except InvalidInputError:
            return True  # The job reports the reason.
        return any(enricher.find_due(project, limit=1).names for project in _projects(store))

    def _fetch(self, work: Work) -> datetime | None:
        try:
            enricher = self._open(work.store)
        except InvalidInputError as error:
            raise PostponedError(str(error), seconds=_INVALID_SECONDS, is_warning=True) from error
        left = _AT_ONCE
        for project in _projects(work.store):
            names = enricher.find_due(project, limit=left).names
            batch = enricher.enrich_all(names, project=project, after_each=work.renew_lease)
            for name, problem in batch.problems.items():
                _log.warning("%s was not fetched: %s", name, problem)
            left -= len(names)
            if left == 0:
                return work.at
        return None

    def _open(self, store: MemoryStore) -> Enricher:
        from opencode_memory.forges import Enricher  # noqa: PLC0415  only if the user has enabled it

        return Enricher(store, self._config.forge, self._config.environment, now=clock.now)


def _projects(store: MemoryStore) -> Iterator[str | None]:
    yield None
    yield from store.projects.names()
