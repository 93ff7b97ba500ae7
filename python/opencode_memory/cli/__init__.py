"""The command line: ``opencode-memory``, also installed as ``ocm-mem``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from opencode_memory.cli import errors
from opencode_memory.cli.commands import application
from opencode_memory.cli.standard_streams import discard, open_missing
from opencode_memory.errors import OpencodeMemoryError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The arguments after the program's name; None for those of this process.

    Returns:
        The exit code: 0 for success, 1 for no results or a failed check, 2 for wrong usage or an error, 130 for an
        interrupt.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_missing()
    try:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            choose_encoding(stream, sys.platform)
        code = application.main(words, standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, OpencodeMemoryError) as error:
        return errors.report_error(error, as_json="--json" in words)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return errors.INTERRUPTED
    except errors.OutputClosed:
        discard(sys.stdout)
        return errors.DONE
    except OSError as error:
        return errors.report_os_error(error, as_json="--json" in words)
    return code if isinstance(code, int) else errors.DONE


def choose_encoding(stream: object, platform: str) -> None:
    """Set the encoding of a standard stream, and escape the characters that it lacks.

    Args:
        stream: The stream; one that a caller replaced, or none, stays as it is.
        platform: The value of ``sys.platform``.
    """
    if not isinstance(stream, TextIOWrapper):
        return
    # Windows uses the code page of the user for pipes and files, but JSON and exports are UTF-8.
    if platform == "win32" and not stream.isatty():
        stream.reconfigure(encoding="utf-8")
    # Otherwise, a character that the terminal cannot show would end a command in mid-output. Input is never changed.
    if stream.writable():
        stream.reconfigure(errors="backslashreplace")
