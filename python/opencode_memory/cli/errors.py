"""Exit codes of commands, and error messages.

0 means success, 1 no results or a failed check, 2 wrong usage or an error, 130 an interrupt. Invalid input never causes
a traceback.
"""

from __future__ import annotations

from typing import Final

import click

from opencode_memory.errors import BusyError, NotFoundError, OpencodeMemoryError, StorageError

DONE: Final = 0
NOTHING_FOUND: Final = 1
FAILED: Final = 2
INTERRUPTED: Final = 130


class OutputClosed(Exception):  # noqa: N818  not an error
    """The reader of standard output closed the pipe, for example ``head``."""


def report_error(error: OpencodeMemoryError | click.ClickException, *, as_json: bool) -> int:
    """Print an error and its hint to standard error, and return the exit code."""
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        click.echo(message, err=True)
        return FAILED
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
