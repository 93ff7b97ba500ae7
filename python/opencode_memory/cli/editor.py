"""Lets the user edit a text in ``$EDITOR``, if a terminal is attached, and keeps a text that is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError


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


@contextmanager
def keep_if_refused(text: str | None) -> Iterator[None]:
    """Write a text from the editor to a file if it cannot be stored. Otherwise the user's work would be lost.

    Args:
        text: The text; None if it does not come from the editor.
    """
    try:
        yield
    except OpencodeMemoryError as error:
        if text is not None and (file := _write_text(text)) is not None:
            error.hint = f"{error.hint}; your text is in {file}" if error.hint else f"your text is in {file}"
        raise


def has_terminal() -> bool:
    """Return whether standard input and standard output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _write_text(text: str) -> str | None:
    """Write a text to a temporary file that only the user can read. Return its path, or None if that fails."""
    import tempfile  # noqa: PLC0415  only a refused text needs it

    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", prefix="opencode-memory-", suffix=".md", delete=False
        ) as file:
            file.write(text)
    except (OSError, UnicodeError):
        return None
    return file.name
