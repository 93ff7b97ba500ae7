"""Reading again what a ``NoteWatcher`` reported, at some later time and in any process.

Much can have happened since: the path is gone, a link has taken its place, an ignore file names it now, or nobody
watches the folder any more. So what is read is decided here, by what is there now.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.notes.files import Skipped
from opencode_memory.notes.folder import IngestReport, ingest
from opencode_memory.notes.tree import find_ingest_path
from opencode_memory.projects.identity import real

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_SKIPPED: Final = 10_000
_log: Final = logging.getLogger(__name__)


class _StoppedByCallerError(Exception):
    """What the caller raised to end the work, whatever it was, told from what a file raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class SkipLog:
    """Warns of each file that is passed over once, until it is read or the reason is another."""

    def __init__(self) -> None:
        self._warned: OrderedDict[str, str] = OrderedDict()

    def warn(self, path: Path, report: IngestReport) -> None:
        """Warn of what is new in a report.

        Args:
            path: What was ingested.
            report: What came of it.
        """
        skipped = {one.file: one.reason for one in report.skipped}
        for file in [file for file in self._warned if file not in skipped and Path(file).is_relative_to(path)]:
            del self._warned[file]
        for file, reason in skipped.items():
            if self._warned.get(file) != reason:
                _log.warning("%s is passed over: %s", file, reason)
            self._warned[file] = reason
            self._warned.move_to_end(file)
        while len(self._warned) > _MOST_SKIPPED:
            self._warned.popitem(last=False)


def ingest_changed(
    store: MemoryStore,
    path: Path,
    project_of: Callable[[Path], tuple[str | None, Path | None]],
    *,
    folders: Sequence[Path],
    skips: SkipLog | None = None,
    heartbeat: Callable[[], None] | None = None,
    zone: tzinfo | None = None,
) -> IngestReport:
    """Bring the memories of a path in step with what is there now.

    What cannot be read is passed over and its memories are left alone. A path that is no note, that lies in no watched
    folder, or of which nothing is known and nothing is there, is no work.

    Args:
        store: Where the memories are.
        path: What a ``NoteWatcher`` reported.
        project_of: Says which project a watched folder belongs to, and the top of its work tree.
        folders: The folders that are watched now.
        skips: Where to tell of files that are passed over.
        heartbeat: Called between two files; what it raises ends the work there, to be done another time.
        zone: Zone of the dates in front matter; None for this machine's.

    Raises:
        OpencodeMemoryError: The store refused.
    """
    if path.is_relative_to(real(store.data_dir / EXPORTS)):
        return _make_empty_report()

    def progress(_done: int, _total: int) -> None:
        try:
            if heartbeat is not None:
                heartbeat()
        except Exception as error:
            raise _StoppedByCallerError(error) from error

    reports = []
    try:
        for project, top, place in _find_places(path, project_of, folders, has_project=store.project is not None):
            report = _ingest(store, place, project=project, top=top, zone=zone, progress=progress)
            if skips is not None:
                skips.warn(place, report)
            reports.append(report)
    except _StoppedByCallerError as ended:
        raise ended.error from None
    except OpencodeMemoryError:
        raise  # Some of ours are an OSError or a ValueError too, and have nothing to do with the file.
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        reports.append(_make_empty_report(Skipped(str(path), reason)))
        if skips is not None:
            skips.warn(path, reports[-1])
    return _sum(reports)


def _find_places(
    path: Path,
    project_of: Callable[[Path], tuple[str | None, Path | None]],
    folders: Sequence[Path],
    *,
    has_project: bool,
) -> Sequence[tuple[str | None, Path | None, Path]]:
    """Return what has to be ingested: the project, the top of its work tree, and the place.

    Raises:
        OSError: Something on the way to the path cannot be looked at.
    """
    around = {root for folder in folders if path.is_relative_to(root := real(folder))}
    found: list[tuple[str | None, Path | None, Path]] = []
    for root in sorted(around, key=lambda root: len(root.parts), reverse=True):
        project, top = project_of(root)
        top = real(top) if top is not None and root.is_relative_to(real(top)) else None
        # An ingest takes heed of what lies above a folder only within a project's work tree.
        knows_top = top is not None and (project is not None or has_project)
        place = find_ingest_path(root, path, top=top if knows_top else None)
        # What a folder passes over may be a note of a folder inside of it that is watched too.
        if place == path or not found:
            found.append((project, top, place if knows_top else _find_outermost_rules(root, place)))
    return list(dict.fromkeys(found))


def _ingest(
    store: MemoryStore,
    place: Path,
    *,
    project: str | None,
    top: Path | None,
    zone: tzinfo | None,
    progress: Callable[[int, int], None],
) -> IngestReport:
    try:
        return ingest(store, place, project=project, top=top, zone=zone, progress=progress)
    except InvalidInputError as error:
        if error.field == "path" and not place.exists():
            return _make_empty_report()  # It came and went before anything was read of it.
        raise


def _find_outermost_rules(root: Path, place: Path) -> Path:
    """Return the outermost folder whose ignore file speaks of a folder, where an ingest would not look above that."""
    if not place.is_dir():
        return place
    between = [outer for outer in reversed(place.parents) if outer.is_relative_to(root)]
    return next((outer for outer in between if (outer / ".gitignore").exists() or (outer / ".git").exists()), place)


def _sum(reports: Sequence[IngestReport]) -> IngestReport:
    return IngestReport(
        files=sum(report.files for report in reports),
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        archived=sum(report.archived for report in reports),
        skipped=tuple(skipped for report in reports for skipped in report.skipped),
    )


def _make_empty_report(*skipped: Skipped) -> IngestReport:
    return IngestReport(files=0, added=0, updated=0, unchanged=0, archived=0, skipped=skipped)
