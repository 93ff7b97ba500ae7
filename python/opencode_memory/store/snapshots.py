"""Copies of the store that live as long as one export or import, and what is left of them when that is killed.

A copy holds every text, so one that nobody uses any more must not outlive the next export or purge. Whether it is in
use is told by a lock on its folder, which ends with the process however that ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from opencode_memory._core import Engine
from opencode_memory.errors import StorageError

_PREFIX: Final = "dump-"


@contextmanager
def temporary_copy(engine: Engine) -> Iterator[Engine]:
    """Open a copy of a store as it is now, for reading.

    Raises:
        StorageError: There is no room, or no permission, for a copy.
    """
    with private_folder(engine.data_dir if engine.is_writable else None) as folder:
        engine.snapshot_copy(folder / "store.db")
        copy = Engine(folder, read_only=True, background=False, clock_ms=engine.now_ms())
        try:
            yield copy
        finally:
            copy.close()


@contextmanager
def private_folder(data_dir: Path | None) -> Iterator[Path]:
    """Make a folder for texts of a store, which is gone afterwards, or with the next export if this process is killed.

    Args:
        data_dir: The store's folder, beside whose files there is room; None where nothing may be written there.

    Raises:
        StorageError: There is no room, or no permission, for one.
    """
    if data_dir is not None:
        remove_leftovers(data_dir)
    folder = _create(data_dir)
    lock = _try_lock(folder, fcntl.LOCK_SH)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unlock(lock)


def remove_leftovers(data_dir: Path) -> list[Path]:
    """Remove copies that a killed process left behind; returns those that are in use."""
    in_use = []
    for folder in data_dir.glob(f"{_PREFIX}*"):
        lock = _try_lock(folder, fcntl.LOCK_EX)
        if lock is None:
            in_use.append(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
            _unlock(lock)
    return in_use


def _create(place: Path | None) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    except OSError as error:
        where = tempfile.gettempdir() if place is None else str(place)
        raise StorageError(
            f"cannot make a copy of the store in {where}: {error.strerror or error}", path=where
        ) from error


def _try_lock(folder: Path, kind: int) -> int | None:
    """Lock a folder; None when another process has it, or when it is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        # A child that was forked meanwhile has the descriptor too: closing ours would not give the lock back.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
