"""Progress bars on standard error, shown only on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from opencode_memory.cli.unembedded import describe_rest
from opencode_memory.text.formatting import format_count, format_duration

if TYPE_CHECKING:
    from opencode_memory.cli.context import Invocation
    from opencode_memory.store.memory_store import MemoryStore


@contextmanager
def progress(label: str, *, quiet: bool = False, kept: str = "") -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar after its first update.

    Args:
        label: The label of the bar.
        quiet: Whether to hide the bar.
        kept: Printed if Ctrl-C ends the task after its first update: what is kept, and how to go on.

    Yields:
        A function that updates the bar with the number of finished items and the total.
    """
    is_hidden = quiet or not sys.stderr.isatty()
    has_begun = False
    with _explain_interrupt(lambda: kept if has_begun and not quiet else ""), ExitStack() as stack:
        bar: Any = None

        def show(done: int, total: int) -> None:
            nonlocal bar, has_begun
            has_begun = True
            if is_hidden:
                return
            if bar is None:
                bar = stack.enter_context(_bar(label, total))
            bar.length = max(total, done, 1)
            seconds = bar.time_per_iteration
            bar.update(done - bar.pos, current_item=f"{1 / seconds:,.0f}/s" if seconds else None)

        yield show


@contextmanager
def stages(*, quiet: bool = False, kept: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """Show one progress bar for each stage of a task.

    Args:
        quiet: Whether to hide the bars.
        kept: Printed after Ctrl-C, as by `progress`.

    Yields:
        A function that takes the stage, the number of finished items and the total.
    """
    with ExitStack() as stack:
        current: tuple[str, Callable[[int, int], None]] | None = None

        def show(stage: str, done: int, total: int) -> None:
            nonlocal current
            if current is None or current[0] != stage:
                stack.close()
                current = (stage, stack.enter_context(progress(stage, quiet=quiet, kept=kept)))
            current[1](done, total)

        yield show


def embed_pending(run: Invocation, store: MemoryStore) -> int:
    """Embed all pending memories in the foreground, with a progress bar and a closing line.

    After an interrupt, later commands and the server continue with the remaining memories.

    Returns:
        The number of embedded memories.
    """
    started = time.monotonic()
    with (
        _explain_interrupt(lambda: "" if run.out.as_json else describe_rest(store.indexes.count_pending())),
        progress("embedding", quiet=run.out.as_json) as show,
    ):
        if waiting := store.indexes.count_pending():
            show(0, waiting)
        embedded = store.indexes.embed_pending(progress=show)
    if embedded:
        run.out.note(describe_embedding(embedded, time.monotonic() - started))
    return embedded


def describe_embedding(embedded: int, seconds: float) -> str:
    """Describe a finished embedding by its count, duration and rate."""
    rate = f", {embedded / seconds:,.0f} a second" if seconds >= 1 else ""
    return f"Embedded {format_count(embedded, 'memory')} in {format_duration(seconds)}{rate}."


@contextmanager
def _explain_interrupt(explain: Callable[[], str]) -> Iterator[None]:
    """Print a remark after Ctrl-C, unless it is empty."""
    try:
        yield
    except KeyboardInterrupt:
        if remark := explain():
            click.echo(remark, err=True)
        raise


def _bar(label: str, total: int) -> Any:
    return click.progressbar(
        length=total, label=label, file=sys.stderr, show_pos=True, show_percent=False, item_show_func=lambda text: text
    )
