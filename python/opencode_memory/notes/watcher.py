"""Watcher of note folders: reports changed notes soon after a change.

The watcher does not read notes; it only calls ``on_change``. The operating system reports events for the scanned
folders, so ignored folders cost nothing, however large they are. Events may get lost silently, so all folders are
scanned again from time to time. Where the system reports no events, the scans alone find the changes.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.notes.change_set import Changes, classify_events, find_paths_to_read
from opencode_memory.notes.file_events import EventQueue, FileSystemObserver
from opencode_memory.notes.tree import StoppedError, Tree, compute_stamp, scan
from opencode_memory.projects.identity import real

ProjectOf = Callable[[Path], tuple[str | None, Path | None]]
"""Returns the project of a folder and the top of its work tree; each may be None."""

_ATTEMPTS: Final = 5
_LONGEST_BATCHES: Final = 20
"""Number of successive event batches after which changes are reported although more events arrive."""
_LONGEST_POLLS: Final = 5
_MOST_TOLD: Final = 1000
_REST: Final = 20
"""Minimum pause between two scans, as a multiple of the duration of a scan, if only scans find changes."""
# On Linux, one watch covers one folder, and their number is limited; elsewhere it covers the whole tree.
_IS_RECURSIVE: Final = sys.platform != "linux"

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Root:
    """A watched folder.

    Attributes:
        folder: The path as configured.
        place: The path with symbolic links resolved.
        top: Top of its work tree, if it has one.
        tree: Result of the scan at the last report.
    """

    folder: Path
    place: Path
    top: Path | None = None
    tree: Tree = field(default_factory=Tree)


class NoteWatcher:
    """Watches folders of notes and reports changes.

    Args:
        folders: Folders to watch. They need not exist, and may be created and removed later.
        project_of: Returns the project of a folder, whose ignore files apply.
        on_change: Called with a file or folder that has to be read again or is gone, from the thread that runs the
            watcher, one path at a time. If it raises an error of this package, the call is repeated later.
        debounce_ms: Quiet time that ends a burst of changes. From about 200 on, saves in quick succession are merged.
        exclude: Folders that are not scanned, for example the exports of the store.
        polling: Whether to use scans only, for folders without file system events, for example network shares.
        poll_seconds: Time between two scans if the system reports no events. A change is reported when the next scan
            finds no further change.
        rescan_seconds: Time after which everything is scanned again, even without events.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        project_of: ProjectOf,
        on_change: Callable[[Path], None],
        debounce_ms: int = 500,
        exclude: Collection[Path] = (),
        polling: bool = False,
        poll_seconds: float = 2.0,
        rescan_seconds: float = 3600.0,
    ) -> None:
        self._roots = [_Root(folder, real(folder)) for folder in dict.fromkeys(folders)]
        self._project_of = project_of
        self._on_change = on_change
        self._quiet_seconds = debounce_ms / 1000
        self._excluded = [real(folder) for folder in exclude]
        self._polling = polling
        self._poll_seconds = poll_seconds
        self._rescan_seconds = rescan_seconds
        self._outbox: dict[Path, None] = {}
        self._is_stuck = False
        self._is_started = False
        self._warned: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Watch until ``stop`` is set.

        Every folder is reported at the start, even if it does not exist, because changes before the start are unknown.

        Args:
            stop: Event that ends the watcher within a fraction of a second.
        """
        queue = EventQueue()
        events: FileSystemObserver | None = None
        named: Collection[str] = ()
        try:
            while True:
                states = self._find_roots()
                fresh, trees = self._start_observer(queue, stop)
                self._report_all_once(trees)
                if events is not None:
                    # Close the old observer only now, or changes before the start of the new one would be missed.
                    events.close()
                events = fresh
                self._report(trees, named)
                named = self._poll(states, stop) if events is None else self._listen(queue, states, stop)
        except StoppedError:
            _log.debug("the watcher was stopped")
        finally:
            if events is not None:
                events.close()

    def _report_all_once(self, trees: Sequence[Tree]) -> None:
        """Report all folders once, after the first scan."""
        if self._is_started:
            return
        self._is_started = True
        for root, tree in zip(self._roots, trees, strict=True):
            root.tree = tree
            if root.place.is_file():
                self._warn_once(f"{root.place} is a file; only folders are watched")
            else:
                self._outbox[root.place] = None

    def _find_roots(self) -> list[tuple[str, int, int]]:
        """Resolve the folders and their projects; return an identification of each folder."""
        for root in self._roots:
            place = real(root.folder)
            if place != root.place:
                root.place, root.tree = place, Tree()
            if not place.is_dir():
                # Its project can only be determined when the folder exists.
                continue
            try:
                project, top = self._project_of(place)
            except OpencodeMemoryError as error:
                _log.warning("cannot determine the project of %s: %s", place, error)
                continue
            # As in an ingest: without a project, ignore files above the folder do not apply.
            is_inside = project is not None and top is not None and place.is_relative_to(real(top))
            root.top = real(top) if top is not None and is_inside else None
        return self._identify_roots()

    def _identify_roots(self) -> list[tuple[str, int, int]]:
        return [_identify(root.folder) for root in self._roots]

    def _scan(self, stop: threading.Event) -> list[Tree]:
        return [
            scan(root.place, top=root.top, before=root.tree, exclude=self._excluded, stop=stop) for root in self._roots
        ]

    def _start_observer(self, queue: EventQueue, stop: threading.Event) -> tuple[FileSystemObserver | None, list[Tree]]:
        """Start an observer and scan; return no observer if the system does not support it."""
        if self._polling:
            return None, self._scan(stop)
        reason: object = "folders are created and removed faster than they can be watched"
        for _ in range(_ATTEMPTS):
            watched = self._folders(self._scan(stop))
            try:
                events = FileSystemObserver(watched, recursive=_IS_RECURSIVE, queue=queue, stop=stop)
            except (FileNotFoundError, PermissionError):
                continue
            except (OSError, RuntimeError) as error:
                reason = error
                break
            try:
                trees = self._scan(stop)
            except BaseException:
                events.close()
                raise
            if self._folders(trees) <= watched:
                return events, trees
            events.close()
        self._warn_once(
            f"the system does not report changes in the watched folders ({reason}); they are scanned every "
            f"{self._poll_seconds:g} s or less often instead. On Linux, fs.inotify.max_user_watches and "
            "max_user_instances limit the number of watches"
        )
        return None, self._scan(stop)

    def _folders(self, trees: Sequence[Tree]) -> frozenset[str]:
        """Return the folders that have to be watched."""
        if _IS_RECURSIVE:
            return frozenset(str(root.place) for root, tree in zip(self._roots, trees, strict=True) if tree.folders)
        return frozenset[str]().union(*(tree.folders for tree in trees))

    def _listen(
        self, queue: EventQueue, states: Sequence[tuple[str, int, int]], stop: threading.Event
    ) -> Collection[str]:
        """Report changes until other folders have to be watched; return notes with events not yet reported."""
        due = time.monotonic() + self._rescan_seconds
        changes = Changes()
        batches = 0
        while True:
            batch = queue.take(self._quiet_seconds)
            if stop.is_set():
                raise StoppedError
            if batch is not None:
                changes |= self._classify(batch.paths)
                if batch.lost is not None:
                    self._warn_once(f"events of the watched folders were lost ({batch.lost}); they are scanned again")
                    changes |= Changes(needs_rewatch=True)
                batches += 1
                if batches < _LONGEST_BATCHES:
                    continue
            batches = 0
            if changes.needs_rewatch or time.monotonic() >= due or self._identify_roots() != states:
                return changes.notes
            if changes and not self._report_changes(changes, stop):
                return ()
            changes = Changes()
            self._deliver()

    def _classify(self, paths: Collection[str]) -> Changes:
        changes = Changes()
        for root in self._roots:
            changes |= classify_events(paths, notes=root.tree.notes, folders=root.tree.folders, is_folder=_is_folder)
        return changes

    def _report_changes(self, changes: Changes, stop: threading.Event) -> bool:
        """Report changes; return False if folders exist now that are not watched."""
        trees = None if changes.needs_scan else self._restat(changes.notes)
        watched = self._folders([root.tree for root in self._roots])
        if trees is None:
            trees = self._scan(stop)
        self._report(trees, changes.notes)
        return self._folders(trees) <= watched

    def _restat(self, notes: Collection[str]) -> list[Tree] | None:
        """Return the trees with new stamps for some known notes; None if a scan is needed instead."""
        stamps: dict[str, int | None] = {}
        for path in notes:
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                stamps[path] = None
            except OSError:
                return None
            else:
                if not stat.S_ISREG(found.st_mode):
                    return None
                stamps[path] = compute_stamp(found)
        trees = []
        for root in self._roots:
            now = {**root.tree.notes, **{path: stamp for path, stamp in stamps.items() if path in root.tree.notes}}
            known = {path: stamp for path, stamp in now.items() if stamp is not None}
            trees.append(Tree(root.tree.folders, known))
        return trees

    def _poll(self, states: Sequence[tuple[str, int, int]], stop: threading.Event) -> Collection[str]:
        """Scan periodically and report changes, until it is time to try events again."""
        due = time.monotonic() + self._rescan_seconds
        pause = self._poll_seconds
        seen = [root.tree for root in self._roots]
        looks = 0
        while time.monotonic() < due:
            if stop.wait(pause):
                raise StoppedError
            begun = time.monotonic()
            if self._identify_roots() != states:
                states = self._find_roots()
            trees = self._scan(stop)
            pause = max(self._poll_seconds, _REST * (time.monotonic() - begun))
            looks += 1
            # Stamps are coarse: two quick saves may get the same one. So wait until a scan finds no change.
            if trees == seen or looks >= _LONGEST_POLLS:
                self._report(trees, ())
                looks = 0
            seen = trees
        return ()

    def _report(self, trees: Sequence[Tree], named: Collection[str]) -> None:
        """Report notes that have changed since the last report, and notes with events."""
        for root, tree in zip(self._roots, trees, strict=True):
            paths = find_paths_to_read(root.tree.notes, tree.notes, named, root=str(root.place))
            self._outbox.update((Path(path), None) for path in paths)
            root.tree = tree
        self._deliver()

    def _deliver(self) -> None:
        while self._outbox:
            path = next(iter(self._outbox))
            try:
                self._on_change(path)
            except OpencodeMemoryError as error:
                if not self._is_stuck:
                    _log.warning("%s has changed, but queueing it failed and is tried again: %s", path, error)
                self._is_stuck = True
                return
            self._is_stuck = False
            del self._outbox[path]

    def _warn_once(self, problem: str) -> None:
        """Log a warning once per problem."""
        if problem in self._warned:
            return
        if len(self._warned) >= _MOST_TOLD:
            self._warned.clear()
        self._warned.add(problem)
        _log.warning("%s", problem)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114  for each event, so for speed


def _identify(folder: Path) -> tuple[str, int, int]:
    """Return an identification of a folder that changes when another folder takes its name or when it is missing."""
    place = real(folder)
    try:
        found = place.stat()
    except OSError as error:
        return str(place), -1, error.errno or 0
    return (str(place), found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else (str(place), -1, errno.ENOTDIR)
