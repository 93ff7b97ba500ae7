"""Loads the model and the indexes while the server still imports its modules, so that both are ready sooner."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import OpencodeMemoryError

if TYPE_CHECKING:
    from opencode_memory.server.server_state import ServerState

_log: Final = logging.getLogger(__name__)


class WarmUp:
    """The first recall of a server, on a thread."""

    def __init__(self) -> None:
        self._is_done = threading.Event()

    @contextmanager
    def running(self, state: ServerState) -> Iterator[None]:
        """Begin to warm up. The end of the block waits for it, because the store must stay open."""
        thread = threading.Thread(target=self._run, args=(state,), name="opencode-memory-warm-up")
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def join(self) -> None:
        """Wait until the server is warm, or has failed to warm up."""
        self._is_done.wait()

    def _run(self, state: ServerState) -> None:
        try:
            state.warm_up()
        except OpencodeMemoryError as error:
            # The server answers nevertheless. ``/health`` and each recall report the error.
            _log.warning("the server could not warm up: %s", error)
        finally:
            self._is_done.set()
