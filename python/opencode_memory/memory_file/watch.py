"""Notices that the user has edited a memory file, within seconds.

A look costs one ``stat`` for each file that was written before. Unlike events of the file system, it needs no watches
of the system, and it also sees changes that were made while no worker ran.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, StorageError
from opencode_memory.memory_file import disk
from opencode_memory.memory_file.disk import RELATIVE
from opencode_memory.memory_file.frame import fingerprint, read_frame
from opencode_memory.memory_file.last_written import list_written, read_last

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LIST_SECONDS: Final = 10.0

_Sign = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file whose managed part is not the one that was written last.

    Attributes:
        work_tree: The folder that the file belongs to.
        project: The project whose memories it shows.
        sign: Time, size and inode of the file.
    """

    work_tree: Path
    project: str
    sign: _Sign


class FileWatch:
    """The memory files of a store that were written in some work tree.

    Args:
        seconds: Returns the time, for the period after which the list of files is read again.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._listed_at: float | None = None
        self._files: dict[Path, str] = {}
        self._handled: dict[Path, _Sign] = {}

    def find_edited(self, store: MemoryStore) -> list[EditedFile]:
        """Return the edited files, except those of ``mark_handled``. Writes nothing to the store."""
        now = self._seconds()
        if self._listed_at is None or now - self._listed_at >= _LIST_SECONDS:
            self._files, self._listed_at = dict(list_written(store)), now
        found = []
        for work_tree, project in self._files.items():
            sign = _sign_of(work_tree)
            if sign is None or sign == self._handled.get(work_tree):
                continue
            file = EditedFile(work_tree, project, sign)
            if _is_edited(store, file):
                found.append(file)
            else:
                self.mark_handled(file)
        return found

    def mark_handled(self, file: EditedFile) -> None:
        """Do not report this version of a file again."""
        self._handled[file.work_tree] = file.sign


def _sign_of(work_tree: Path) -> _Sign | None:
    try:
        found = os.stat(work_tree / RELATIVE, follow_symlinks=False)  # noqa: PTH116  one call for all three
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_edited(store: MemoryStore, file: EditedFile) -> bool:
    last = read_last(store, file.project, file.work_tree)
    if last is None:
        return False
    try:
        found = disk.read(file.work_tree)
        body = None if found is None else read_frame(found.data).body
    except (ConflictError, StorageError):
        return True  # The job reports what is wrong with the file.
    return found is not None and (body is None or fingerprint(body) != last.fingerprint)
