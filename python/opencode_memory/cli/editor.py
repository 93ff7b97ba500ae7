"""Lets the user edit a text in ``$EDITOR``, if a terminal is attached."""

from __future__ import annotations

import sys

import click

from opencode_memory.errors import InvalidInputError


def edit_text(text: str, *, field: str, instead: str) -> str | None:
    """Open a text in the user's editor; return the saved text, or None if nothing was saved.

    Args:
        text: The text.
        field: The option or argument that asks for an editor.
        instead: The next step for a caller without a terminal: how to give the text directly.

    Raises:
        InvalidInputError: No terminal is attached, so the editor would wait for keys for ever.
    """
    if not has_terminal():
        error = InvalidInputError("no editor is opened, because no terminal is attached", field=field)
        error.hint = instead
        raise error
    return click.edit(text, extension=".md")


def has_terminal() -> bool:
    """Return whether standard input and standard output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
