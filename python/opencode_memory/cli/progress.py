"""Progress of long work: a bar with a rate on standard error, only when a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress(label: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is.

    Args:
        label: What is being done.
        quiet: Show nothing.

    Yields:
        A function to call with what is done so far and what there is to do.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with click.progressbar(
        length=1, label=label, file=sys.stderr, show_pos=True, show_percent=False, item_show_func=lambda text: text
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.length = max(total, done, 1)
            seconds = bar.time_per_iteration
            bar.update(done - bar.pos, current_item=f"{1 / seconds:,.0f}/s" if seconds else None)

        yield show
