"""The standard streams of a command that its caller closed, or that cannot be written."""

from __future__ import annotations

import os
import sys
from io import UnsupportedOperation
from typing import IO, Any, Final

_MODES: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}
_LAST_STANDARD: Final = 2


def open_missing() -> None:
    """Open the null device for each standard stream that the caller closed, for example with ``>&-``.

    Otherwise the next file that is opened, for example the store, would become standard output, and a child process
    would write into it.
    """
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:
            # The system takes the lowest free descriptor, which is the one that the caller closed.
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, null <= _LAST_STANDARD)
            # The stream lives as long as the process.
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8", closefd=False))


def discard(stream: IO[Any]) -> None:
    """Discard what waits in a stream. Otherwise the interpreter reports an error when it flushes the stream."""
    try:
        descriptor = stream.fileno()
    except UnsupportedOperation:  # A stream in memory.
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
