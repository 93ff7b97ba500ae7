"""Finished stores on disk. An engine builds each in its own process; a copy is made before a write."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from .process import disk_bytes
from .remote import Remote

if TYPE_CHECKING:
    from pathlib import Path

    from .data import Dataset


class Stores:
    """The stores of one data set, one folder per engine, each with a note of how its build went."""

    def __init__(self, dataset: Dataset, *, reuse: bool, core: int | None) -> None:
        """Build no store yet; with ``reuse``, use the stores of an earlier run."""
        self._dataset = dataset
        self._root = dataset.directory.with_name(f"{dataset.directory.name}-stores")
        self._reuse = reuse
        self._core = core

    def built(self, engine: str) -> dict[str, Any]:
        """Build the engine's store if need be; return seconds, processor seconds, peak bytes and bytes on disk.

        Raises:
            EngineFailedError: The engine raised, or its process died.
        """
        directory = self._root / engine
        note = directory.with_suffix(".json")
        if not (self._reuse and note.exists()):
            shutil.rmtree(directory, ignore_errors=True)
            note.unlink(missing_ok=True)
            directory.parent.mkdir(parents=True, exist_ok=True)
            with Remote(engine, self._dataset, directory, self._core) as remote:
                built = remote.ask("build")
            # Written last: a store without its note is unfinished and is never reused.
            note.write_text(json.dumps({**built, "disk_bytes": disk_bytes(directory)}))
        finished: dict[str, Any] = json.loads(note.read_text())
        return finished

    def copy(self, engine: str) -> Path:
        """Return a fresh copy of a finished store, to be written to."""
        copy = self._root / f"{engine}-serving"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._root / engine, copy)
        return copy
