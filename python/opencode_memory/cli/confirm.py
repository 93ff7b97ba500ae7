"""The question before something is destroyed."""

from __future__ import annotations

import sys

import click

from opencode_memory.errors import InvalidInputError


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask a question that destroys something when it is answered with yes.

    Args:
        question: Without the question mark.
        yes: Whether the person said so already.

    Raises:
        InvalidInputError: There is nobody to ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        error = InvalidInputError("this needs an answer, and standard input is not a terminal", field="--yes")
        error.hint = "repeat it with --yes"
        raise error
    return click.confirm(f"{question}?", default=False, err=True)
