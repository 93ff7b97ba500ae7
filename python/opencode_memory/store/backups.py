"""Backups of a store: complete copies of its file."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_memory.store import arguments
from opencode_memory.store.reports import Backup, Leftover

if TYPE_CHECKING:
    from opencode_memory._core import Engine


class Backups:
    """The backups of a store; ``MemoryStore.backups`` is one.

    Args:
        engine: The engine of the store.
        on_write: Called after a restore, since memories may wait for embeddings then.
    """

    def __init__(self, engine: Engine, on_write: Callable[[], None]) -> None:
        self._engine = engine
        self._on_write = on_write

    def create(self, target: str | Path | None = None) -> Path:
        """Write a complete copy of the store; return its path.

        Args:
            target: A file that does not exist yet; by default a new one in ``backups`` in the data directory.

        Raises:
            ConflictError: The file exists.
        """
        if target is None:
            stamp = arguments.moment(self._engine.now_ms()).strftime("%Y%m%dT%H%M%S%fZ")
            target = self._engine.data_dir / "backups" / f"{stamp}.db"
        path = arguments.path(target, field="target").absolute()
        self._engine.backup(path)
        return path

    def restore(self, source: str | Path) -> int:
        """Replace the content of the store by a backup; return its number of memories.

        Other processes see the change at once.
        """
        memories = self._engine.restore_backup(arguments.path(source, field="source"))
        self._on_write()
        return memories

    def list(self) -> builtins.list[Backup]:
        """Return the backups that still exist, newest first."""
        return [
            Backup(path=Path(path), at=arguments.moment(at), bytes=Path(path).stat().st_size)
            for path, at in self._engine.backups()
        ]

    def leftovers(self) -> builtins.list[Leftover]:
        """Return the files that a killed process or a restore left beside the store and its backups."""
        return [Leftover(path=Path(path), advice=advice) for path, advice in self._engine.leftovers()]
