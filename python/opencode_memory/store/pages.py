"""Reads all memories that meet a filter, page by page, so that a large store is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Unpack

from opencode_memory.models import Memory
from opencode_memory.store.selection import Filter

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 500


def list_all(store: MemoryStore, **filters: Unpack[Filter]) -> Iterator[Memory]:
    """Yield each memory once, newest first, even if others are written in the meantime.

    If a memory stops to meet the filter while the caller reads, another one may be left out. So a caller that changes
    the memories collects them first.

    Args:
        store: The store.
        **filters: See ``Filter``.
    """
    seen: set[str] = set()
    offset = 0
    while page := store.list(limit=_PAGE, offset=offset, **filters):
        offset += len(page)
        # New memories move some of the last page onto this page.
        yield from (memory for memory in page if memory.id not in seen)
        seen.update(memory.id for memory in page)
