"""Learning duties: OpenCode's database, idle sessions, watched notes, the memory file, and digests of sessions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.config.sections import MemoryFile
from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.hosts.opencode.contract import OWN_TITLE
from opencode_memory.hosts.opencode.feed.history_reader import OpenCodeReading
from opencode_memory.hosts.opencode.feed.live_learning import REST
from opencode_memory.hosts.opencode.feed.sqlite_reader import UnreadableError
from opencode_memory.hosts.opencode.feed.transcripts import DatabaseTranscripts
from opencode_memory.learning.digest.queue import DigestQueue
from opencode_memory.learning.digest.report import DigestReport
from opencode_memory.learning.digest.settings import is_enabled, uses_server
from opencode_memory.learning.extraction.events import SessionInfo
from opencode_memory.learning.learner import Learner
from opencode_memory.learning.switches import Switches, is_off
from opencode_memory.notes.fact_sheet import SOURCE, update_fact_sheet
from opencode_memory.projects.resolver import ProjectResolver, work_tree
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.worker.duty import REFUSED_SECONDS, Duty, PermanentError, PostponedError, Work, look_every
from opencode_memory.worker.mirror_duty import MirrorDuty
from opencode_memory.worker.session_duty import SESSIONS, SessionDuty, find_database

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.notes.reread import SkipLog
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.worker.digest_duty import ServerDigests

NOTES: Final = "notes"
MEMORY_FILE: Final = "memory_file"
EDITED_FILES: Final = "edited_files"
DIGEST: Final = "digest"
OPENCODE: Final = "opencode"
FROM_SESSIONS: Final = frozenset({SESSIONS, OPENCODE, REST, DIGEST})
"""Kinds of jobs that read sessions of OpenCode, which a server without a plugin does not run."""
_FILE_DELAY_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 1.0
_DIGEST_SECONDS: Final = 30.0
_UNREADABLE_SECONDS: Final = 300.0

_log: Final = logging.getLogger(__name__)


class LearningDuties:
    """Learning duties with their shared state: the configuration, and the projects of folders."""

    def __init__(self, store: MemoryStore, config: Config) -> None:
        self._config = config
        self._switches = Switches.from_config(config.learning)
        self._switches.note(store, at_ms=_now_ms())
        self._projects = ProjectResolver(store, config.environment)
        self._folders = [Path(folder).expanduser().absolute() for folder in config.learning.watch]
        self._skips: SkipLog | None = None
        self._digests: ServerDigests | None = None
        self._mirror = MirrorDuty(config, self._projects)

    @property
    def projects(self) -> ProjectResolver:
        """Resolver for the projects of folders."""
        return self._projects

    def duties(self) -> tuple[Duty, ...]:
        """Return the enabled duties."""
        found = [SessionDuty(self._config, self._projects, self._switches).duty()]
        if self._switches.is_enabled("opencode"):
            is_due = look_every(self._config.learning.poll_seconds, self._has_news)
            found.append(Duty(kind=OPENCODE, do=self._read_opencode, is_due=is_due))
        if self._switches.is_enabled("live"):
            found.append(Duty(kind=REST, do=self._finish_session))
        if self._switches.is_enabled("markdown"):
            found.append(Duty(kind=NOTES, do=self._read_notes))
        if self._config.memory_file is not MemoryFile.OFF:
            found.append(Duty(kind=MEMORY_FILE, do=self._write_memory_file))
            found.append(self._edited_files())
        found += self._mirror.duties()
        if uses_server(self._config.learning):
            found.append(Duty(kind=DIGEST, do=self._digest, is_due=look_every(_DIGEST_SECONDS, self._has_digests)))
        return tuple(found)

    @contextmanager
    def watch_notes(self, store: MemoryStore) -> Iterator[None]:
        """Watch the configured note folders while the context is active."""
        if not self._folders or not self._switches.is_enabled("markdown"):
            yield
            return
        from opencode_memory.notes.watcher import NoteWatcher  # noqa: PLC0415  only with watched folders

        stop = threading.Event()
        watcher = NoteWatcher(
            self._folders,
            project_of=self._projects.of_notes,
            on_change=lambda path: _enqueue_note(store, path),
            exclude=(store.data_dir / EXPORTS,),
        )
        thread = threading.Thread(target=watcher.run, args=(stop,), name="opencode-memory-notes", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _open_reading(self, store: MemoryStore) -> OpenCodeReading | None:
        """Return a reading of OpenCode's database; None if there is none."""
        path = find_database(self._config)
        if path is None:
            return None
        return OpenCodeReading(
            store,
            path,
            projects=self._projects,
            switches=self._switches,
            rest_ms=self._config.learning.rest_seconds * 1000,
            on_rest=lambda head: self._queue_digest(store, head.info, head.active_ms),
        )

    def _has_news(self, store: MemoryStore) -> bool:
        reading = self._open_reading(store)
        try:
            return reading is not None and reading.has_news(at_ms=_now_ms())
        except (StorageError, InvalidInputError):
            return True  # The job reports the reason.

    def _read_opencode(self, work: Work) -> None:
        reading = self._open_reading(work.store)
        if reading is None:
            return

        def keeps_on() -> bool:
            work.renew_lease()
            return True

        try:
            report = reading.read(at_ms=to_ms(work.at), keeps_on=keeps_on)
        except (UnreadableError, InvalidInputError) as error:
            # The file belongs to another program. It may be replaced or repaired at this moment.
            reason = f"OpenCode's database cannot be read: {error}"
            raise PostponedError(reason, seconds=_UNREADABLE_SECONDS, is_warning=True) from error
        except StorageError as error:
            reason = f"nothing can be stored: {error}"
            raise PostponedError(reason, seconds=REFUSED_SECONDS, is_warning=True) from error
        for folder, project in report.folders:
            self._enqueue_memory_file(work.store, folder, project)
        for folder in report.directories:
            work.renew_lease()
            self._update_fact_sheet(work.store, folder)
        if report.active or report.waiting:
            _log.info(
                "learned from %d sessions: %d memories, %d wait",
                report.sessions,
                len(report.active),
                len(report.waiting),
            )

    def _finish_session(self, work: Work) -> None:
        payload = work.job.payload
        info = SessionInfo(
            id=work.job.subject, directory=payload["directory"], parent=payload["parent"], title=payload["title"]
        )
        at_ms = to_ms(work.at)
        left = self._config.learning.rest_seconds - (at_ms - payload["active_ms"]) / 1000
        if left > 0:
            raise PostponedError("the session is active again", seconds=left)
        project = self._projects.of_session(info.directory)
        if self._switches.skips(work.store, project, info):
            return
        if info.parent is None:
            self._update_fact_sheet(work.store, info.directory)
        self._queue_digest(work.store, info, payload["active_ms"])
        learned = Learner(work.store).process(info, (), project=project, at_ms=at_ms, is_idle=True)
        if learned.active:
            self._enqueue_memory_file(work.store, info.directory, project)

    def _read_notes(self, work: Work) -> None:
        from opencode_memory.notes.reread import SkipLog, ingest_changed  # noqa: PLC0415  only with watched folders

        self._skips = self._skips or SkipLog()
        ingest_changed(
            work.store,
            Path(work.job.subject),
            self._projects.of_notes,
            folders=self._folders,
            skips=self._skips,
            heartbeat=work.renew_lease,
        )

    def _update_fact_sheet(self, store: MemoryStore, folder: str) -> None:
        """Create or update the fact sheet of a session's project, unless learning is off for the project."""
        top = work_tree(Path(folder)) if folder else None
        if top is None or not top.is_dir() or not self._switches.is_enabled(SOURCE):
            return
        project = self._projects.ensure(top)
        if project not in self._config.learning.skip_projects and not is_off(store, project):
            update_fact_sheet(store, top, project=project)

    def _enqueue_memory_file(self, store: MemoryStore, folder: str, project: str | None) -> None:
        self._mirror.add(folder)
        if self._config.memory_file is not MemoryFile.OFF:
            enqueue_memory_file(store, folder, project)

    def _write_memory_file(self, work: Work) -> None:
        from opencode_memory.memory_file import sync  # noqa: PLC0415  only where there is such a file

        tree = Path(work.job.subject)
        report = sync(
            work.store,
            project=self._projects.find(tree) or work.job.payload["project"],
            work_tree=tree,
            mode=self._config.memory_file,
            max_lines=self._config.max_memory_lines,
            at=work.at,
            environment=self._config.environment,
        )
        if report.problem is not None:
            _log.warning("%s was not changed: %s", report.path, report.problem)

    def _edited_files(self) -> Duty:
        """Return the duty that queues the files that the user has edited. A job of its own reads each of them."""
        from opencode_memory.memory_file.watch import FileWatch  # noqa: PLC0415  only where there is such a file

        watch = FileWatch()

        def queue(work: Work) -> None:
            for file in watch.find_edited(work.store):
                work.store.jobs.enqueue(MEMORY_FILE, str(file.work_tree), payload={"project": file.project})
                watch.mark_handled(file)

        is_due = look_every(_LOOK_SECONDS, lambda store: bool(watch.find_edited(store)))
        return Duty(kind=EDITED_FILES, do=queue, is_due=is_due)

    def _queue_digest(self, store: MemoryStore, info: SessionInfo, active_ms: int) -> None:
        """Queue a session that came to rest, before its last messages are processed, so that a crash loses nothing."""
        if not is_enabled(self._config.learning) or info.title.startswith(OWN_TITLE):
            return
        queue = DigestQueue(store, now_ms=_now_ms)
        queue.add(info, active_ms=active_ms, rest_seconds=self._config.learning.digest_rest_seconds)

    def _has_digests(self, store: MemoryStore) -> bool:
        return find_database(self._config) is not None and DigestQueue(store, now_ms=_now_ms).has_due()

    def _digest(self, work: Work) -> datetime | None:
        from opencode_memory.worker.digest_duty import ServerDigests  # noqa: PLC0415  loads an HTTP client

        path = find_database(self._config)
        if path is None:
            return None
        if self._digests is None:
            try:
                self._digests = ServerDigests(
                    work.store,
                    self._config.learning,
                    DatabaseTranscripts(path, now_ms=_now_ms),
                    project_of=self._projects.of_session,
                    work_tree_of=self._projects.work_tree_of_session,
                    clock=clock.now,
                )
            except InvalidInputError as error:
                raise PermanentError(str(error)) from error
        report = self._digests.digest_next(work.job.worker or "worker")
        if isinstance(report, DigestReport):
            _log.info("a digest stored %d memories; %d wait", len(report.active), len(report.waiting))
        return None if report is None else work.at


def _now_ms() -> int:
    return to_ms(clock.now())


def _enqueue_note(store: MemoryStore, path: Path) -> None:
    """Queue a note for reading; if the queue rejects its name, queue the folder that contains it."""
    for place in (path, *path.parents):
        try:
            store.jobs.enqueue(NOTES, str(place))
        except InvalidInputError:
            continue
        if place != path:
            _log.warning("the name of a note below %s cannot be stored in the queue; the folder is read instead", place)
        return


def enqueue_memory_file(store: MemoryStore, folder: str, project: str | None) -> None:
    """Queue an update of a project's memory file after a short delay, because more may be learned at once."""
    top = work_tree(Path(folder)) if folder and Path(folder).is_dir() else None
    if top is not None and project is not None:
        # The name is for `jobs`; the job looks the project up again, since the user may rename it meanwhile.
        store.jobs.enqueue(MEMORY_FILE, str(top), payload={"project": project}, delay_seconds=_FILE_DELAY_SECONDS)
