"""Words for errors that no rule of a loop expects, such as a full disk or a bug."""

from __future__ import annotations

import os

from opencode_memory.errors import OpencodeMemoryError


def unwrap(error: Exception) -> Exception:
    """Return the first error of a group of errors, which tasks that run beside each other raise."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def describe_error(error: Exception) -> str:
    """Return what went wrong, for the user who has not seen the code."""
    if isinstance(error, OpencodeMemoryError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        # Of a copy, the second name is the file that was written.
        name = error.filename2 or error.filename
        where = "" if name is None else f": {os.fsdecode(name)}"
        return f"{error.strerror}{where}"
    return f"an internal error ({type(error).__name__}: {error}); see the server log"
