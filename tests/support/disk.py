"""A recording layer below Python's file writes: calls that fail once, and the state after a loss of power."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

_CALLS: Final = ("open", "mkdir", "fsync", "fchmod", "fdopen", "rename", "replace", "unlink")


class Disk:
    """Records the calls of ``os`` that change files below a folder, and what a loss of power would leave of them.

    A file has the content of its last sync, or none. A name stands for the file that it had at the last sync of its
    folder, or for any later one: file systems may write names before their folder is synced.

    Args:
        folder: The folder. Its files are synced at the beginning.
        monkeypatch: Puts the recorder in the place of the functions.
        fail_at: Number of the call that fails, from 0; None for none.
        error: The number of its error.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, fail_at: int | None = None, error: int = 0
    ) -> None:
        self.calls: list[str] = []
        self.on_call: Callable[[], None] = lambda: None
        self._folder = folder
        self._fail_at = fail_at
        self._error = error
        self._contents: dict[int, bytes] = {}
        self._names: dict[Path, set[int | None]] = {}
        for path in self._walk():
            if path.is_file():
                self._contents[path.stat().st_ino] = path.read_bytes()
            self._names[path] = {path.stat().st_ino}
        for name in _CALLS:
            monkeypatch.setattr(os, name, self._record(name, getattr(os, name)))

    def contents_after_power_loss(self, path: Path) -> set[bytes | None]:
        """Return the possible contents of a file: None if it does not exist, and empty if it was never synced."""
        found: set[bytes | None] = set()
        for parent in path.relative_to(self._folder).parents:
            if None in self._names.get(self._folder / parent, {None}) and parent != Path():
                found.add(None)
        return found | {None if node is None else self._contents.get(node, b"") for node in self._names[path]}

    def _walk(self) -> list[Path]:
        return sorted(self._folder.rglob("*"))

    def _record(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*arguments: Any, **options: Any) -> Any:
            number = len(self.calls)
            self.calls.append(name)
            if number == self._fail_at:
                raise OSError(self._error, os.strerror(self._error))
            result = call(*arguments, **options)
            if name == "fsync":
                self._sync(arguments[0])
            self._see_names()
            self.on_call()
            return result

        return recorded

    def _sync(self, descriptor: int) -> None:
        found = Path(f"/proc/self/fd/{descriptor}").readlink()
        if found.is_dir():
            for path in [*self._names, *found.iterdir()]:
                if path.parent == found:
                    self._names[path] = {path.stat().st_ino if path.exists() else None}
        else:
            self._contents[found.stat().st_ino] = found.read_bytes()

    def _see_names(self) -> None:
        for path in self._walk():
            self._names.setdefault(path, {None}).add(path.stat().st_ino)
