"""Temporary copies of a store for one export or import, and removal of copies that a killed process left behind.

A copy holds every text, so an unused copy must not outlive the next export or purge. A lock on its folder marks a copy
as in use; the lock ends with the process, also if the process is killed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from opencode_memory._core import Engine
from opencode_memory.errors import CorruptStoreError, StorageError
from opencode_memory.platform import system

_PREFIX: Final = "dump-"


@contextmanager
def temporary_copy(engine: Engine, *, read_only: bool = True) -> Iterator[Engine]:
    """Open a copy of the current state of a store.

    Args:
        engine: The engine of the store.
        read_only: Whether the copy is only read; otherwise a change can be tried out there.

    Raises:
        StorageError: There is no room, or no permission, for a copy.
    """
    with private_folder(engine.data_dir if engine.is_writable else None) as folder, _naming_store(engine, folder):
        engine.snapshot_copy(folder / "store.db")
        copy = Engine(folder, read_only=read_only, background=False, clock_ms=engine.now_ms())
        try:
            yield copy
        finally:
            copy.close()


@contextmanager
def _naming_store(engine: Engine, folder: Path) -> Iterator[None]:
    """Name the store in an error about its copy, because the copy will be gone when the user looks for it."""
    try:
        yield
    except CorruptStoreError as error:
        error.args = (str(error).replace(str(folder), str(engine.data_dir)),)
        raise


@contextmanager
def private_folder(data_dir: Path | None) -> Iterator[Path]:
    """Make a temporary folder for texts of a store; if this process is killed, the next export removes it.

    Args:
        data_dir: The store's folder, which then contains the temporary one; None if it is read-only.

    Raises:
        StorageError: There is no room, or no permission, for the folder.
    """
    if data_dir is not None:
        remove_leftovers(data_dir)
    folder = _create(data_dir)
    lock = system().lock_folder(folder, shared=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            lock.release()


def remove_leftovers(data_dir: Path) -> list[Path]:
    """Remove copies that a killed process left behind; return those that are in use."""
    in_use = []
    for folder in data_dir.glob(f"{_PREFIX}*"):
        if not folder.is_dir():
            continue
        lock = system().lock_folder(folder, shared=False)
        if lock is None:
            in_use.append(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()
    return in_use


def _create(place: Path | None) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    except OSError as error:
        where = tempfile.gettempdir() if place is None else str(place)
        raise StorageError(
            f"cannot make a copy of the store in {where}: {error.strerror or error}", path=where
        ) from error
