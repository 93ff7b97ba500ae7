"""Settings of the interpreter while a server starts: no garbage collection, and short turns of threads.

The objects that imports create live as long as the process. Otherwise the collector would visit them many times during
the start, which takes a tenth of its time. A thread that imports keeps the interpreter to itself for a whole turn, and
an answer needs several turns. With turns of the usual length, the first answer would wait for most of the import.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_TURN_SECONDS: Final = 0.0005


@contextmanager
def start_settings() -> Iterator[Callable[[], None]]:
    """Change the settings until the yielded function is called, at the latest until the block ends.

    The function also exempts the objects that exist by then from all later collections. Otherwise each full collection
    would visit them, and requests would wait for it.
    """
    turn_seconds = sys.getswitchinterval()

    def restore() -> None:
        sys.setswitchinterval(turn_seconds)
        gc.enable()

    def complete() -> None:
        gc.freeze()
        restore()

    gc.disable()
    sys.setswitchinterval(_TURN_SECONDS)
    try:
        yield complete
    finally:
        restore()
