"""Watching folders of notes: says which notes to read again, soon after they changed.

Nothing is read here, and nothing but ``on_change`` is called. The system tells of changes in folders that a look came
by, so that ignored ones, however large, cost nothing. It may lose events without a word, so every folder is looked at
again from time to time; where it tells nothing, that is the way to find changes.
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
"""Says which project a folder belongs to, and the top of its work tree; None for what there is not."""

_ATTEMPTS: Final = 5
_LONGEST_BATCHES: Final = 20
"""Batches of events in a row after which notes are read although more events come."""
_LONGEST_POLLS: Final = 5
_MOST_TOLD: Final = 1000
_REST: Final = 20
"""How many times as long as a look took the next one waits at least, when looking is the only way."""
# One watch of the system is for one folder on Linux, and there are only so many; elsewhere it covers all that is below.
_IS_RECURSIVE: Final = sys.platform != "linux"

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Root:
    """A folder that is watched.

    Attributes:
        folder: As it was named.
        place: Where that leads now.
        top: The work tree that it belongs to, if any.
        tree: What was there when ``on_change`` was called last.
    """

    folder: Path
    place: Path
    top: Path | None = None
    tree: Tree = field(default_factory=Tree)


class NoteWatcher:
    """Watches folders of notes.

    Args:
        folders: What to watch. They need not exist, and may come and go.
        project_of: Whose ignore files hold in a folder.
        on_change: Called with a file or folder that has to be read again, or that is gone; from the thread that runs
            the watcher, one path at a time. Raising an error of this package means: not now, tell me again.
        debounce_ms: Quiet that ends a burst of changes. From about 200 on, saves that follow each other faster count as
            one.
        exclude: Folders that are not looked at, such as the exports of the store.
        polling: Do not rely on the system, for folders of which it tells nothing, such as shared ones.
        poll_seconds: Time between two looks where the system tells nothing; a change is reported once the next look
            sees no other.
        rescan_seconds: Time after which everything is looked at again, whatever the system told.
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
        """Watch until told to stop.

        Every folder is reported at the start, whether it exists or not: nobody knows what changed before.

        Args:
            stop: Ends it within a fraction of a second.
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
                    # Only now: between the two no change is missed.
                    events.close()
                events = fresh
                self._report(trees, named)
                named = self._poll(states, stop) if events is None else self._listen(queue, states, stop)
        except StoppedError:
            _log.debug("told to stop")
        finally:
            if events is not None:
                events.close()

    def _report_all_once(self, trees: Sequence[Tree]) -> None:
        """Have all folders read, the first time that they were looked at."""
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
        """Look up where the folders lead and what they belong to; returns what tells one folder from another."""
        for root in self._roots:
            place = real(root.folder)
            if place != root.place:
                root.place, root.tree = place, Tree()
            if not place.is_dir():
                # Whose it will be shows when it is there.
                continue
            try:
                project, top = self._project_of(place)
            except OpencodeMemoryError as error:
                _log.warning("cannot say which project %s belongs to: %s", place, error)
                continue
            # As an ingest has it: without a project, nothing above the folder counts.
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
        """Have the system watch, and look at what is there then; without events when it does not."""
        if self._polling:
            return None, self._scan(stop)
        reason: object = "folders come and go faster than they can be watched"
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
            f"the system does not tell of changes in the watched folders ({reason}); they are looked at every "
            f"{self._poll_seconds:g} s or less often instead. On Linux fs.inotify.max_user_watches and "
            "max_user_instances limit what it can tell of"
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
        """Report changes until other folders have to be watched; returns notes that were named and not yet reported."""
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
                    self._warn_once(f"events of the watched folders were lost ({batch.lost}); they are looked at again")
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
        """Report what was changes of; False when there are folders now that are not watched."""
        trees = None if changes.needs_scan else self._restat(changes.notes)
        watched = self._folders([root.tree for root in self._roots])
        if trees is None:
            trees = self._scan(stop)
        self._report(trees, changes.notes)
        return self._folders(trees) <= watched

    def _restat(self, notes: Collection[str]) -> list[Tree] | None:
        """Return the trees with some known notes as they are now; None when it takes a look to say that."""
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
        """Look now and then and report changes, until it is time to ask the system again."""
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
            # Stamps are coarse: a save that follows another at once shows only while nobody has looked in between.
            if trees == seen or looks >= _LONGEST_POLLS:
                self._report(trees, ())
                looks = 0
            seen = trees
        return ()

    def _report(self, trees: Sequence[Tree], named: Collection[str]) -> None:
        """Report what changed since the last report, or was named."""
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
                    _log.warning("%s has changed and cannot be passed on, so this is tried again: %s", path, error)
                self._is_stuck = True
                return
            self._is_stuck = False
            del self._outbox[path]

    def _warn_once(self, problem: str) -> None:
        """Warn of a problem, once."""
        if problem in self._warned:
            return
        if len(self._warned) >= _MOST_TOLD:
            self._warned.clear()
        self._warned.add(problem)
        _log.warning("%s", problem)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114  for each event, so for speed


def _identify(folder: Path) -> tuple[str, int, int]:
    """Return what tells a folder from another that has its name later, or why there is none."""
    place = real(folder)
    try:
        found = place.stat()
    except OSError as error:
        return str(place), -1, error.errno or 0
    return (str(place), found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else (str(place), -1, errno.ENOTDIR)
