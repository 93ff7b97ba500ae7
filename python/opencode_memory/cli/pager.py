"""Shows long answers of a command in the user's pager, as git does. Only on a terminal, and never with ``--json``."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.output import cells

if TYPE_CHECKING:
    from opencode_memory.cli.context import Invocation

_STYLES: Final = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def paged(run: Invocation) -> Iterator[None]:
    """Collect the output of the block, and show it in ``$PAGER`` if it is longer than the screen."""
    if run.out.as_json or not run.out.terminal:
        yield
        return
    texts = io.StringIO()
    color = run.out.color
    run.print_to(texts)
    try:
        yield
    finally:
        # After an error, too: the text before it belongs to the answer.
        show(texts.getvalue(), color=color)


def show(text: str, *, color: bool) -> None:
    """Print a text, or open the pager if the text is longer than the screen."""
    columns, lines = shutil.get_terminal_size()
    rows = sum(max(1, -(-cells(_STYLES.sub("", line)) // columns)) for line in text.splitlines())
    if rows < lines:
        click.echo(text, nl=False, color=color)
    else:
        click.echo_via_pager(text, color=color)
