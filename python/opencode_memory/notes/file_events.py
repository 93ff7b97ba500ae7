"""Events of the file system, taken from watchfiles as they come and kept until somebody asks for them.

Its own grouping into batches is not relied upon: it takes a second save of a file for none. Nor is its polling: it
compares whole seconds, so of the saves within one second it sees the first.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from watchfiles._rust_notify import RustNotify

_STEP_MS: Final = 50
_GROUP_MS: Final = 200
_MOST_PATHS: Final = 50_000


@dataclass(frozen=True, slots=True)
class EventBatch:
    """What came since the last time that somebody asked.

    Attributes:
        paths: What was made, changed or removed.
        lost: Why there may have been more; None when these are all.
    """

    paths: frozenset[str] = frozenset()
    lost: str | None = None


class EventQueue:
    """Where events wait, each path once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paths: set[str] = set()
        self._lost: str | None = None
        self._is_woken = False

    def put(self, paths: Collection[str]) -> None:
        """Add events; of too many only remains that they were too many."""
        with self._changed:
            self._paths.update(paths)
            if len(self._paths) > _MOST_PATHS:
                self._paths.clear()
                self._lost = f"more than {_MOST_PATHS} files changed at once"
            self._changed.notify_all()

    def mark_lost(self, reason: str) -> None:
        """Say that from now on events are lost."""
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def wake(self) -> None:
        """End a wait early, now or the next one."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def take(self, timeout_seconds: float) -> EventBatch | None:
        """Wait for events and take them; None when none came in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._paths or self._lost or self._is_woken, timeout_seconds)
            self._is_woken = False
            batch = EventBatch(frozenset(self._paths), self._lost)
            self._paths.clear()
            self._lost = None
            return batch if batch.paths or batch.lost else None


class FileSystemObserver:
    """Puts the events of folders into a queue, from the moment it is made until it is closed.

    Args:
        folders: What to watch.
        recursive: Whether with everything below, where that costs the system nothing.
        queue: Where the events go; it is woken when ``stop`` is set.
        stop: Ends it.

    Raises:
        FileNotFoundError: A folder has gone.
        PermissionError: A folder may not be watched.
        OSError: A limit of the system was met.
        RuntimeError: The system watches nothing, or nothing more.
    """

    def __init__(self, folders: Collection[str], *, recursive: bool, queue: EventQueue, stop: threading.Event) -> None:
        self._queue = queue
        self._stop = stop
        self._closed = threading.Event()
        # Told to ignore what it may not watch, it would also ignore that it met a limit.
        self._notify = RustNotify(
            sorted(folders),
            debug=False,
            force_polling=False,
            poll_delay_ms=0,
            recursive=recursive,
            ignore_permission_denied=False,
        )
        self._thread = threading.Thread(target=self._run, name="opencode-memory-file-events", daemon=True)
        self._thread.start()

    def is_set(self) -> bool:
        """Say whether to end; watchfiles asks this every few milliseconds."""
        return self._closed.is_set() or self._stop.is_set()

    def close(self) -> None:
        """Watch no more."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            # Without a time limit: at the end of one it would throw away what came in that moment.
            while not isinstance(found := self._notify.watch(_GROUP_MS, _STEP_MS, 0, self), str):
                self._queue.put({path for _, path in found})
        except (OSError, RuntimeError) as error:
            self._queue.mark_lost(str(error))
        finally:
            self._notify.close()
            if self._stop.is_set():
                self._queue.wake()
