"""Position in a list of memories, and reading of all its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from opencode_memory.models import Memory

Cursor: TypeAlias = tuple[int, int]
"""The time at which a memory was created, in UTC milliseconds, and its key."""


def read_pages(read: Callable[[Cursor | None], tuple[list[Memory], Cursor | None]]) -> Iterator[Memory]:
    """Yield the memories of all pages.

    Args:
        read: Reads the page after a cursor, or the first one; returns the cursor of the next one, if there is one.
    """
    page, after = read(None)
    yield from page
    while after is not None:
        page, after = read(after)
        yield from page
