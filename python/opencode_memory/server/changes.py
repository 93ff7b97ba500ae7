"""Changes of memories by the user, the same in the pages and in OpenCode's terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.rejections import rejecting, withdraw_rejection

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

Change = Callable[["MemoryStore", Sequence[str]], object]


def _archive(store: MemoryStore, ids: Sequence[str]) -> None:
    with rejecting(store, ids):
        store.archive(ids, reason="by the user")


def _delete(store: MemoryStore, ids: Sequence[str]) -> None:
    with rejecting(store, ids):
        store.delete(ids)


def _restore(store: MemoryStore, ids: Sequence[str]) -> None:
    withdraw_rejection(store, *store.restore(ids))


CHANGES: Final[Mapping[str, tuple[str, Change]]] = {
    "pin": ("Pinned", lambda store, ids: store.pin(ids)),
    "unpin": ("No longer pinned", lambda store, ids: store.unpin(ids)),
    "archive": ("Archived", _archive),
    "restore": ("Restored", _restore),
    "delete": ("Deleted", _delete),
}
"""The changes by name, with the word for what was done."""
