"""File system events: collects the events of watchfiles in a queue.

Two features of watchfiles are not used. Its grouping into batches drops a second save of a file. Its polling compares
whole seconds, so of several saves within one second it sees only the first.
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
    """Events since the last call.

    Attributes:
        paths: Created, changed or removed paths.
        lost: Reason why events may be missing; None if the batch is complete.
    """

    paths: frozenset[str] = frozenset()
    lost: str | None = None


class EventQueue:
    """Queue of event paths without duplicates."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paths: set[str] = set()
        self._lost: str | None = None
        self._is_woken = False

    def put(self, paths: Collection[str]) -> None:
        """Add paths; if there are too many, they are dropped and the batch is marked as incomplete."""
        with self._changed:
            self._paths.update(paths)
            if len(self._paths) > _MOST_PATHS:
                self._paths.clear()
                self._lost = f"more than {_MOST_PATHS} files changed at once"
            self._changed.notify_all()

    def mark_lost(self, reason: str) -> None:
        """Record that events are lost from now on."""
        with self._changed:
            self._lost = reason
            self._changed.notify_all()

    def wake(self) -> None:
        """End the current or the next wait early."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def take(self, timeout_seconds: float) -> EventBatch | None:
        """Wait for events and return them; None if none arrived in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._paths or self._lost or self._is_woken, timeout_seconds)
            self._is_woken = False
            batch = EventBatch(frozenset(self._paths), self._lost)
            self._paths.clear()
            self._lost = None
            return batch if batch.paths or batch.lost else None


class FileSystemObserver:
    """Puts the events of folders into a queue, from its construction until it is closed.

    Args:
        folders: Folders to watch.
        recursive: Whether to include subfolders; only where that is cheap for the system.
        queue: Queue for the events; it is woken when ``stop`` is set.
        stop: Event that ends the observer.

    Raises:
        FileNotFoundError: A folder does not exist any more.
        PermissionError: A folder may not be watched.
        OSError: A limit of the system was reached.
        RuntimeError: The system does not support watching, or no further watches.
    """

    def __init__(self, folders: Collection[str], *, recursive: bool, queue: EventQueue, stop: threading.Event) -> None:
        self._queue = queue
        self._stop = stop
        self._closed = threading.Event()
        # With ``ignore_permission_denied`` watchfiles would also ignore that it reached a limit.
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
        """Return whether to stop; watchfiles calls this every few milliseconds."""
        return self._closed.is_set() or self._stop.is_set()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            # No timeout: at the end of a timeout, watchfiles drops events that arrive in that moment.
            while not isinstance(found := self._notify.watch(_GROUP_MS, _STEP_MS, 0, self), str):
                self._queue.put({path for _, path in found})
        except (OSError, RuntimeError) as error:
            self._queue.mark_lost(str(error))
        finally:
            self._notify.close()
            if self._stop.is_set():
                self._queue.wake()
