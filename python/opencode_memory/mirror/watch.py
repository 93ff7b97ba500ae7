"""Notices within seconds that a folder of files or the memories in it changed.

A look costs one ``stat`` for each file and one query of the store. Unlike events of the file system, it needs no
watches of the system, and it also sees changes that were made while no worker ran. A look at many files takes longer,
so the next one comes later.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.config.sections import Files
from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.mirror.place import Place, global_place, project_place, shows_global, shows_projects
from opencode_memory.mirror.record import FOLDER, recorded_top

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LIST_SECONDS: Final = 10.0
_ANYWAY_SECONDS: Final = 600.0
"""Seconds after which a folder is synchronized without a sign of change, because memories expire."""
_REST_FACTOR: Final = 30.0
"""Rest after a look, as a multiple of its duration, so that looking takes at most 3 % of the time."""


@dataclass(frozen=True, slots=True)
class Due:
    """A folder that may have changed.

    Attributes:
        place: The folder.
        state: Its state when it was looked at.
    """

    place: Place
    state: str


class MirrorWatch:
    """The folders of a store whose memories are kept as files.

    Args:
        files: Which memories are kept as files.
        environment: Environment of the calling process.
        project_of: Returns the project of a folder; None if the store does not know it.
        seconds: Returns the time, for the periods.
    """

    def __init__(
        self,
        files: Files,
        environment: Mapping[str, str],
        project_of: Callable[[Path], str | None],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._environment = environment
        self._project_of = project_of
        self._seconds = seconds
        self._listed_at: float | None = None
        self._tops: set[Path] = set()
        self._records: dict[Path, tuple[int, Path | None]] = {}
        self._handled: dict[Path, tuple[str, float]] = {}
        self._rests_until = 0.0

    def add(self, folder: Path) -> None:
        """Keep the memories of a folder's project as files from now on, if the settings say so."""
        if shows_projects(self._files):
            place = project_place(folder, "", self._environment)
            if place is not None:
                self._tops.add(place.top)

    def find_due(self, store: MemoryStore, *, rests: bool = True) -> list[Due]:
        """Return the folders that may have changed and are not handled yet. Writes nothing.

        Args:
            store: The store of the memories.
            rests: Whether to return none soon after a look that took long.
        """
        start = self._seconds()
        if rests and start < self._rests_until:
            return []
        found = []
        marker = _marker(store)
        for place in self._places(store, start):
            state = f"{marker} {_state(place)}"
            handled, handled_at = self._handled.get(place.path, ("", 0.0))
            if state != handled or start - handled_at >= _ANYWAY_SECONDS:
                found.append(Due(place, state))
        self._rests_until = self._seconds() + _REST_FACTOR * (self._seconds() - start)
        return found

    def mark_handled(self, due: Due) -> None:
        """Do not report this state of a folder again."""
        self._handled[due.place.path] = (due.state, self._seconds())

    def _places(self, store: MemoryStore, now: float) -> Iterator[Place]:
        if shows_global(self._files) and (place := global_place(self._environment)) is not None:
            yield place
        if not shows_projects(self._files):
            return
        if self._listed_at is None or now - self._listed_at >= _LIST_SECONDS:
            self._listed_at = now
            self._tops |= set(self._list_recorded(store))
        for top in sorted(self._tops):
            project = self._project_of(top) if top.is_dir() else None
            place = None if project is None else project_place(top, project, self._environment)
            # Without its repository, the folder would belong to a repository around it.
            if place is not None and place.top == top:
                yield place

    def _list_recorded(self, store: MemoryStore) -> Iterator[Path]:
        """Yield the work trees with a record; a record is read only if it changed."""
        for path in (store.data_dir / FOLDER).glob("*.json"):
            try:
                changed_at = path.stat().st_mtime_ns
            except OSError:
                continue  # Another process is replacing it; the next look finds it.
            if self._records.get(path, (0, None))[0] != changed_at:
                self._records[path] = (changed_at, recorded_top(path))
            top = self._records[path][1]
            if top is not None:
                yield top


def _marker(store: MemoryStore) -> int:
    """Return a number that changes with each change of a memory."""
    newest = store.operations.list(limit=1)
    return newest[0].operation if newest else 0


def _state(place: Place) -> str:
    """Return a digest of the signs of a folder's files."""
    found = hashlib.sha256()
    for team in (False, True):
        try:
            with place.open(datetime.fromtimestamp(0, UTC), team=team) as folder:
                listing = None if folder is None else folder.list()
        except (ConflictError, StorageError) as error:
            found.update(str(error).encode())  # The job reports what is wrong with the folder.
            continue
        if listing is None:
            found.update(b"none")
            continue
        for name in sorted(listing.signs):
            found.update(f"{name} {listing.signs[name]}\n".encode())
        found.update(repr(sorted(listing.refused)).encode())
    return found.hexdigest()
