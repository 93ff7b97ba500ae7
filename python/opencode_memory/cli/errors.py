"""How a command ends: the exit code of each way, and what is said when it did not go well.

0 done, 1 nothing found or a check failed, 2 usage or error, 130 interrupted. Nobody sees a traceback for a wrong input.
"""

from __future__ import annotations

from typing import Final

import click

from opencode_memory.errors import BusyError, NotFoundError, OpencodeMemoryError, StorageError

DONE: Final = 0
NOTHING_FOUND: Final = 1
FAILED: Final = 2
INTERRUPTED: Final = 130


class OutputClosed(Exception):  # noqa: N818  it is no error
    """Whoever reads our output had enough."""


def report_error(error: OpencodeMemoryError | click.ClickException, *, as_json: bool) -> int:
    """Say on standard error what went wrong, and what to do next; return the exit code."""
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    hint = _hint_for(error)
    if as_json:
        import json  # noqa: PLC0415  only this needs it

        about = {"type": type(error).__name__, "message": message, "hint": hint}
        click.echo(json.dumps({"error": about}, ensure_ascii=False), err=True)
    else:
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"hint: {hint}", err=True)
    return NOTHING_FOUND if isinstance(error, NotFoundError) else FAILED


def _hint_for(error: OpencodeMemoryError | click.ClickException) -> str | None:
    if isinstance(error, OpencodeMemoryError) and error.hint:
        return error.hint
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{error.ctx.command_path} --help"
    if isinstance(error, BusyError):
        return "another process is writing; try again"
    if isinstance(error, StorageError):
        return "opencode-memory doctor looks at the folder, its permissions and the free space"
    return None
