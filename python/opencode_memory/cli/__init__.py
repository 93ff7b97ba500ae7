"""The command line: ``opencode-memory``, also installed as ``ocm-mem``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from opencode_memory.cli import errors
from opencode_memory.cli.commands import application
from opencode_memory.errors import OpencodeMemoryError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: What follows the program's name; None for those of this process.

    Returns:
        The exit code: 0 done, 1 nothing found or a check failed, 2 usage or error, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Text that the terminal's encoding lacks must not end a command in the middle of its answer.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        code = application.main(words, standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, OpencodeMemoryError) as error:
        return errors.report_error(error, as_json="--json" in words)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return errors.INTERRUPTED
    except errors.OutputClosed:
        # Nothing may be left in the stream, or the interpreter complains when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.DONE
    return code if isinstance(code, int) else errors.DONE
