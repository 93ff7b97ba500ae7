"""Pauses learning from sessions while no plugin is connected.

A server that the plugin started outlives OpenCode. Without a plugin, for example after the plugin was removed, it must
not go on reading sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class LearningSwitch:
    """Counts the connected plugins, and lets the worker learn while there is one and for some time after.

    Args:
        let_learn: Called with whether the worker may learn, at each change.
        seconds: Time without a plugin after which learning is paused. Within it, the last sessions are finished.
    """

    def __init__(self, let_learn: Callable[[bool], None], *, seconds: float) -> None:
        self._let_learn = let_learn
        self._seconds = seconds
        self._plugins = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = False

    def start(self) -> None:
        """Begin to count the time, if no plugin is connected. Call this in the running loop."""
        if not self._plugins and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._pause)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Count a plugin until the block ends."""
        self._plugins += 1
        self._stop_timer()
        if self._is_paused:
            self._is_paused = False
            self._let_learn(True)
        try:
            yield
        finally:
            self._plugins -= 1
            self.start()

    def close(self) -> None:
        """Stop counting the time."""
        self._stop_timer()

    def _pause(self) -> None:
        self._timer = None
        self._is_paused = True
        self._let_learn(False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
