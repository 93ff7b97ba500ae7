"""The worker: embeds what waits, compares it with its neighbours, keeps the indexes caught up, and cleans up.

It yields to everything else on the machine, and may be killed at any moment: what it had not finished, the next one
does. It is woken by a line on its standard input, and looks by itself now and then for what other processes wrote. When
the input ends, whoever started it has gone, and it goes too.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import BusyError, EmbeddingError

if TYPE_CHECKING:
    from opencode_memory.memory import MemoryStore

NICENESS: Final = 10
_LOOK_SECONDS: Final = 2.0
_PATIENCE_SECONDS: Final = 60.0
_MAINTAIN_SECONDS: Final = 3600.0
_AT_ONCE: Final = 256
"""Memories of one round. A round is what has to be waited for before the worker looks up."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a worker waits for between its rounds.

    Attributes:
        supervised: Whether somebody holds the other end of standard input.
    """

    supervised: bool

    def __call__(self, seconds: float) -> bool:
        """Wait until woken, or for so long; False when there is nobody left to work for."""
        if not self.supervised:
            time.sleep(seconds)
            return True
        ready, _, _ = select.select([sys.stdin.buffer], [], [], seconds)
        return not ready or bool(os.read(sys.stdin.fileno(), 65_536))


def work(store: MemoryStore, *, wait: Callable[[float], bool], lower_priority: bool = True) -> None:
    """Work until ``wait`` says that nobody is left to work for.

    Args:
        store: Opened with ``background=True``, so that the engine catches its indexes up.
        wait: Waits for some seconds at most; returns whether to go on.
        lower_priority: Whether the process yields to others.
    """
    if lower_priority:
        os.nice(NICENESS)
    maintained = 0.0
    pause = _LOOK_SECONDS
    while True:
        embedded = 0
        try:
            embedded = store.embed_pending(limit=_AT_ONCE)
            pause = _LOOK_SECONDS
            if not maintained or time.monotonic() - maintained > _MAINTAIN_SECONDS:
                store.maintain()
                maintained = time.monotonic()
        except BusyError:
            _log.info("the store is busy; trying again")
        except EmbeddingError as error:
            # Said once a minute, not at every look: it may be the model, and last until a person comes.
            pause = _PATIENCE_SECONDS
            _log.warning("%s", error)
        if not wait(0 if embedded else pause):
            return
