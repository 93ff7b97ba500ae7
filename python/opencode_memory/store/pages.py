"""Reads all memories that meet a filter, page by page, so that a large store is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Unpack

from opencode_memory.models import Memory
from opencode_memory.store.cursor import read_pages
from opencode_memory.store.selection import Filter

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 500


def list_all(store: MemoryStore, **filters: Unpack[Filter]) -> Iterator[Memory]:
    """Yield each memory once, newest first, even if memories are written or changed in the meantime.

    Args:
        store: The store.
        **filters: See ``Filter``.
    """
    yield from read_pages(lambda after: store.list_page(limit=_PAGE, after=after, **filters))
