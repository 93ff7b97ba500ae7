"""Progress of long work: a bar with a rate on standard error, only when a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from opencode_memory.cli.context import Invocation
    from opencode_memory.store.memory_store import MemoryStore


@contextmanager
def progress(label: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is, from the first time that it tells.

    Args:
        label: What is being done.
        quiet: Show nothing.

    Yields:
        A function to call with what is done so far and what there is to do.
    """
    with ExitStack() as stack:
        bar: Any = None

        def show(done: int, total: int) -> None:
            nonlocal bar
            if bar is None:
                bar = stack.enter_context(_bar(label, total))
            bar.length = max(total, done, 1)
            seconds = bar.time_per_iteration
            bar.update(done - bar.pos, current_item=f"{1 / seconds:,.0f}/s" if seconds else None)

        yield _silence if quiet or not sys.stderr.isatty() else show


@contextmanager
def stages(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar after the other, for work that tells its stage.

    Args:
        quiet: Show nothing.

    Yields:
        A function to call with the stage, what is done of it so far and what there is to do.
    """
    with ExitStack() as stack:
        current: tuple[str, Callable[[int, int], None]] | None = None

        def show(stage: str, done: int, total: int) -> None:
            nonlocal current
            if current is None or current[0] != stage:
                stack.close()
                current = (stage, stack.enter_context(progress(stage, quiet=quiet)))
            current[1](done, total)

        yield show


def embed_pending(run: Invocation, store: MemoryStore) -> int:
    """Embed what waits for its vectors; interrupted, it goes on at the next run.

    Returns:
        How many memories got their vectors.
    """
    with progress("embedding", quiet=run.out.as_json) as show:
        return store.indexes.embed_pending(progress=show)


def _bar(label: str, total: int) -> Any:
    return click.progressbar(
        length=total, label=label, file=sys.stderr, show_pos=True, show_percent=False, item_show_func=lambda text: text
    )


def _silence(_done: int, _total: int) -> None:
    """Show nothing."""
