"""Backups of a store that need not be readable: their list, and a restore that replaces damaged files.

``MemoryStore.backups`` belongs to an open store. The functions here take the data directory, because a store that needs
a backup is often one that cannot be opened.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory._core import Engine, is_sound_store, restore_beside
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.store import arguments
from opencode_memory.store.reports import Backup

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

FOLDER: Final = "backups"
"""Folder of backups in the data directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBackups:
    """Backups of a store.

    Attributes:
        backups: Backups that exist, newest first.
        problem: Why the store's own list could not be read, so that backups in other folders are missing; None if it
            could.
    """

    backups: tuple[Backup, ...]
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Result of a restore.

    Attributes:
        memories: Number of restored memories.
        before: Backup of the store as it was; None if it was damaged or missing.
        aside: Folder with the damaged files; None if there were none.
    """

    memories: int
    before: Path | None
    aside: Path | None


def list_backups(data_dir: Path) -> KnownBackups:
    """List the backups that the store knows of, and those in its folder. A damaged store is no obstacle."""
    found = {path.resolve(): _describe(path, None) for path in (data_dir / FOLDER).glob("*.db")}
    problem = None
    try:
        engine = Engine(data_dir, read_only=True, actor="user", background=False, clock_ms=None)
        try:
            recorded = engine.backups()
        finally:
            engine.close()
    except OpencodeMemoryError as error:
        recorded, problem = [], str(error)
    found |= {Path(path).resolve(): _describe(Path(path), at) for path, at in recorded}
    backups = sorted((backup for backup in found.values() if backup is not None), key=lambda backup: backup.at)
    return KnownBackups(backups=tuple(reversed(backups)), problem=problem)


def restore(data_dir: Path, source: Path, *, open_store: Callable[[], AbstractContextManager[MemoryStore]]) -> Restored:
    """Replace the content of a store by a backup.

    The rows of a sound store are replaced, after a backup of it, and other processes go on with the restored ones. The
    files of a store that is damaged or missing are moved into a folder beside it, and a new file takes their place.

    Args:
        data_dir: Folder of the store.
        source: The backup.
        open_store: Opens the store; called only if it is sound.

    Raises:
        CorruptStoreError: The backup is damaged. Nothing was changed.
        StorageError: A file could not be read, written or moved.
        BusyError: Another process is writing.
        ConflictError: Another process is restoring a backup, or has just restored one.
    """
    if is_sound_store(data_dir):
        with open_store() as store:
            id_, before = store.stats().store_id, store.backups.create()
            try:
                memories = store.backups.restore(source)
            except BaseException:
                # Each further try would push an older backup out. Ctrl-C may also come after the restore, which gives
                # the store another id.
                with suppress(OpencodeMemoryError):
                    if store.stats().store_id == id_:
                        before.unlink(missing_ok=True)
                raise
            return Restored(memories=memories, before=before, aside=None)
    memories, aside = restore_beside(data_dir, arguments.path(source, field="source").absolute())
    return Restored(memories=memories, before=None, aside=None if aside is None else Path(aside))


def _describe(path: Path, at_ms: int | None) -> Backup | None:
    """Describe a backup; None if its file has gone meanwhile."""
    try:
        found = path.stat()
    except OSError:
        return None
    at = datetime.fromtimestamp(found.st_mtime, UTC) if at_ms is None else arguments.moment(at_ms)
    return Backup(path=path, at=at, bytes=found.st_size)
