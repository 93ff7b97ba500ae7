"""Exit codes of commands, and error messages.

0 means success, 1 no results, a failed check or the answer "no" to a question, 2 wrong usage or an error, 130 an
interrupt. Invalid input never causes a traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

import click

from opencode_memory.cli.standard_streams import discard
from opencode_memory.errors import BusyError, InvalidInputError, NotFoundError, OpencodeMemoryError, StorageError
from opencode_memory.text.display import indent_breaks

DONE: Final = 0
NOTHING_FOUND: Final = 1
FAILED: Final = 2
INTERRUPTED: Final = 130
_LOST_OUTPUT: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of a write. Without the name of a file they concern standard output, because files are written with theirs."""


class OutputClosed(Exception):  # noqa: N818  not an error
    """The reader of standard output closed the pipe, for example ``head``."""


def report_error(error: OpencodeMemoryError | click.ClickException, *, as_json: bool) -> int:
    """Print an error and its hint to standard error, and return the exit code."""
    try:
        _print_error(error, as_json=as_json)
    except OSError:
        # Standard error cannot be written either, so only the exit code tells the caller.
        discard(sys.stderr)
    return NOTHING_FOUND if isinstance(error, NotFoundError) else FAILED


def _print_error(error: OpencodeMemoryError | click.ClickException, *, as_json: bool) -> None:
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        click.echo(message, err=True)
        return
    hint = _hint_for(error)
    if as_json:
        import json  # noqa: PLC0415  only this needs it

        about = {"type": type(error).__name__, "message": message, "hint": hint}
        click.echo(json.dumps({"error": about}, ensure_ascii=False), err=True)
    else:
        click.echo(f"error: {indent_breaks(message)}", err=True)
        if hint:
            click.echo(f"hint: {indent_breaks(hint)}", err=True)


def report_os_error(error: OSError, *, as_json: bool) -> int:
    """Print an error of the operating system that no command expected, and return the exit code."""
    if error.filename is not None or error.errno not in _LOST_OUTPUT:
        return report_error(explain(error), as_json=as_json)
    discard(sys.stdout)
    lost = StorageError(f"the output cannot be written: {error.strerror}")
    lost.hint = "if the command changes something, it may have done so; `opencode-memory log` lists changes"
    return report_error(lost, as_json=as_json)


def explain(error: OSError) -> OpencodeMemoryError:
    """Convert an error of the operating system to one whose message names the file."""
    if isinstance(error, OpencodeMemoryError):
        return error
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_current_folder():
        deleted = InvalidInputError("the current folder was deleted", field="--dir")
        deleted.hint = "change to a folder that exists"
        return deleted
    reason = error.strerror or str(error)
    if error.filename is None:
        return StorageError(reason)
    return StorageError(f"{os.fsdecode(error.filename)}: {reason}", path=os.fsdecode(error.filename))


def _has_current_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  only whether it fails
    except OSError:
        return False
    return True


def _hint_for(error: OpencodeMemoryError | click.ClickException) -> str | None:
    if isinstance(error, OpencodeMemoryError) and error.hint:
        return error.hint
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{error.ctx.command_path} --help{_about_texts(error, error.ctx.command)}"
    if isinstance(error, BusyError):
        return "another process is writing to the store; try again"
    if isinstance(error, StorageError):
        return "run `opencode-memory doctor` to check the folder, its permissions and the free space"
    return None


def _about_texts(error: click.UsageError, command: click.Command) -> str:
    takes_text = any(isinstance(parameter, click.Argument) for parameter in command.params)
    if not isinstance(error, click.NoSuchOption) or not takes_text:
        return ""
    return "; write -- before a text that begins with -"
