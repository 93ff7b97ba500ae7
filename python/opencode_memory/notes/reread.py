"""Reads reported paths again, at a later time and in any process.

Between the report and the reading the path may have been removed, replaced by a link, ignored, or taken off the list
of watched folders. Therefore the files to read are determined here, from the current state of the file system.
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
    """Wraps an exception of the caller's ``heartbeat``, to distinguish it from errors of files."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class SkipLog:
    """Logs a warning for each skipped file once, until the file is read or the reason changes."""

    def __init__(self) -> None:
        self._warned: OrderedDict[str, str] = OrderedDict()

    def warn(self, path: Path, report: IngestReport) -> None:
        """Log warnings for the new entries of a report.

        Args:
            path: The ingested path.
            report: Its report.
        """
        skipped = {skip.file: skip.reason for skip in report.skipped}
        for file in [file for file in self._warned if file not in skipped and Path(file).is_relative_to(path)]:
            del self._warned[file]
        for file, reason in skipped.items():
            if self._warned.get(file) != reason:
                _log.warning("%s is skipped: %s", file, reason)
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
    """Update the memories of a path from its current files.

    Unreadable files are skipped, and their memories stay unchanged. Paths that are no notes, that lie in no watched
    folder, or that neither exist nor have memories are ignored.

    Args:
        store: Store of the memories.
        path: A path that a ``NoteWatcher`` reported.
        project_of: Returns the project of a watched folder, and the top of its work tree.
        folders: Currently watched folders.
        skips: Log of skipped files, if any.
        heartbeat: Called between two files; an exception that it raises ends the work, which is then repeated later.
        zone: Zone of the dates in front matter; None for this machine's.

    Raises:
        OpencodeMemoryError: The store refused a write.
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
        raise  # Some errors of this package are also an OSError or a ValueError, but do not concern the file.
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
    """Return the paths to ingest, each with its project and the top of its work tree.

    Raises:
        OSError: A folder on the way to the path cannot be read.
    """
    around = {root for folder in folders if path.is_relative_to(root := real(folder))}
    found: list[tuple[str | None, Path | None, Path]] = []
    for root in sorted(around, key=lambda root: len(root.parts), reverse=True):
        project, top = project_of(root)
        top = real(top) if top is not None and root.is_relative_to(real(top)) else None
        # An ingest considers the folders above a folder only within a project's work tree.
        knows_top = top is not None and (project is not None or has_project)
        place = find_ingest_path(root, path, top=top if knows_top else None)
        # A path that one folder skips may be a note of a watched folder inside of it.
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
            return _make_empty_report()  # The file was removed before it was read.
        raise


def _find_outermost_rules(root: Path, place: Path) -> Path:
    """Return the outermost folder with ignore rules for a folder, because an ingest does not look above its root."""
    if not place.is_dir():
        return place
    between = [outer for outer in reversed(place.parents) if outer.is_relative_to(root)]
    return next((outer for outer in between if (outer / ".gitignore").exists() or (outer / ".git").exists()), place)


def _sum(reports: Sequence[IngestReport]) -> IngestReport:
    return IngestReport(
        files=sum(report.files for report in reports),
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        moved=tuple(moved for report in reports for moved in report.moved),
        unchanged=sum(report.unchanged for report in reports),
        archived=sum(report.archived for report in reports),
        skipped=tuple(skipped for report in reports for skipped in report.skipped),
    )


def _make_empty_report(*skipped: Skipped) -> IngestReport:
    return IngestReport(files=0, added=0, updated=0, unchanged=0, archived=0, skipped=skipped)
