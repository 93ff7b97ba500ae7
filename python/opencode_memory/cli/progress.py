"""Progress bars on standard error, shown only on a terminal."""

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
    """Show a progress bar after its first update.

    Args:
        label: The label of the bar.
        quiet: Whether to hide the bar.

    Yields:
        A function that updates the bar with the number of finished items and the total.
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
    """Show one progress bar for each stage of a task.

    Args:
        quiet: Whether to hide the bars.

    Yields:
        A function that takes the stage, the number of finished items and the total.
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
    """Embed all pending memories in the foreground, with a progress bar.

    After an interrupt, the next run continues with the remaining memories.

    Returns:
        The number of embedded memories.
    """
    with progress("embedding", quiet=run.out.as_json) as show:
        return store.indexes.embed_pending(progress=show)


def _bar(label: str, total: int) -> Any:
    return click.progressbar(
        length=total, label=label, file=sys.stderr, show_pos=True, show_percent=False, item_show_func=lambda text: text
    )


def _silence(_done: int, _total: int) -> None:
    """Ignore the progress."""
