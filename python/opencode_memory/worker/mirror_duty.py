"""The duty that keeps memories as files: it looks for changes every second, and synchronizes the changed folders."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.config.sections import Files
from opencode_memory.worker.duty import Duty, Work, look_every

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.mirror.watch import MirrorWatch
    from opencode_memory.projects.resolver import ProjectResolver

MIRROR: Final = "memory_files"
_LOOK_SECONDS: Final = 1.0
_NOT_ARCHIVED: Final = "files are gone whose memories are still active; `opencode-memory files status` says what to do"

_log: Final = logging.getLogger(__name__)


class MirrorDuty:
    """Keeps memories as files, if the settings say so.

    Args:
        config: The configuration.
        projects: The projects of folders.
    """

    def __init__(self, config: Config, projects: ProjectResolver) -> None:
        self._config = config
        self._watch: MirrorWatch | None = None
        self._problems: dict[Path, str] = {}
        if config.files is not Files.OFF:
            from opencode_memory.mirror.watch import MirrorWatch  # noqa: PLC0415  only where there are such files

            self._watch = MirrorWatch(config.files, config.environment, projects.find)

    def duties(self) -> tuple[Duty, ...]:
        """Return the duty; nothing if no memories are kept as files."""
        watch = self._watch
        if watch is None:
            return ()
        is_due = look_every(_LOOK_SECONDS, lambda store: bool(watch.find_due(store)))
        return (Duty(kind=MIRROR, do=self._sync, is_due=is_due),)

    def add(self, folder: str) -> None:
        """Keep the memories of a session's project as files from now on."""
        if self._watch is not None and folder and Path(folder).is_dir():
            self._watch.add(Path(folder))

    def _sync(self, work: Work) -> datetime | None:
        from opencode_memory.mirror import sync  # noqa: PLC0415  only where there are such files

        watch = self._watch
        if watch is None:
            return None
        is_complete = True
        for due in watch.find_due(work.store, rests=False):
            work.renew_lease()
            report = sync(work.store, due.place, at=work.at, environment=self._config.environment)
            is_complete = is_complete and report.is_complete
            if report.is_complete:
                watch.mark_handled(due)
            problem = "; ".join(
                [
                    *([report.problem] if report.problem else []),
                    *(f"{one.name}: {one.reason}" for one in report.unclear),
                    *([_NOT_ARCHIVED] if report.missing else []),
                ]
            )
            if problem and self._problems.get(due.place.path) != problem:
                _log.warning("%s: %s", due.place.path, problem)
            self._problems[due.place.path] = problem
        return None if is_complete else work.at
