"""Forgets loops that ended long ago. Their branches, folders and plans stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError
from opencode_memory.loops.documents import (
    EVENT,
    FOLDER,
    LEASE,
    LOOP,
    REPORT,
    RUN,
    SESSION,
    STEP,
    to_folder_loop,
    to_step,
)
from opencode_memory.loops.model import Loop
from opencode_memory.loops.records import Loops
from opencode_memory.store.documents import Change, Damaged, sort_out

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_AT_ONCE: Final = 500
"""Number of records that one transaction deletes. A long loop has more than the store changes at once."""


def forget_old_loops(store: MemoryStore, *, before: datetime) -> int:
    """Delete the records of loops that ended before a time; return their number.

    A loop that another process changes meanwhile is left for the next time.
    """
    ended = (loop for loop in Loops(store).list_all() if loop.state.has_ended)
    return sum(_forget(store, loop) for loop in ended if (loop.changed_at or loop.created_at) < before)


def forget_damaged(store: MemoryStore, damaged: Damaged) -> None:
    """Delete the records of a loop whose own record cannot be read.

    Raises:
        ConflictError: Another process has changed it meanwhile.
    """
    document = damaged.document
    _delete(store, document.name, document.version)


def _forget(store: MemoryStore, loop: Loop) -> bool:
    try:
        _delete(store, loop.id, loop.revision)
    except ConflictError:
        return False
    return True


def _delete(store: MemoryStore, id: str, revision: int) -> None:
    unchanged = Change(kind=LOOP, name=id, expected=revision)
    records = list(_deletions(store, id))
    for start in range(0, len(records), _MOST_AT_ONCE):
        store.documents.write([unchanged, *records[start : start + _MOST_AT_ONCE]])
    # At last, so that the next run finds the rest if the process dies meanwhile.
    store.documents.write([replace(unchanged, deletes=True)])


def _deletions(store: MemoryStore, id: str) -> Iterator[Change]:
    """Yield the deletions of all records of a loop but its own. The steps are last, because they name the sessions."""
    documents = store.documents
    # A damaged step names no session, and must not keep the others.
    steps, _ = sort_out(documents.list(STEP, prefix=f"{id}/"), to_step)
    named = [(LEASE, id), (RUN, id), *((SESSION, step.session) for step in steps if step.session)]
    for kind, name in named:
        if (found := documents.get(kind, name)) is not None:
            yield Change(kind=kind, name=name, expected=found.version, deletes=True)
    for folder in documents.list(FOLDER):
        if sort_out([folder], to_folder_loop)[0] == [id]:
            yield Change(kind=FOLDER, name=folder.name, expected=folder.version, deletes=True)
    for kind in (EVENT, REPORT, STEP):
        for document in documents.list(kind, prefix=f"{id}/"):
            yield Change(kind=kind, name=document.name, expected=document.version, deletes=True)
