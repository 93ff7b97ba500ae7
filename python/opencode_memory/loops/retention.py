"""Forgets loops that ended long ago. Their branches, folders and plans stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError
from opencode_memory.loops.documents import EVENT, FOLDER, LEASE, LOOP, REPORT, RUN, SESSION, STEP, folder_name
from opencode_memory.loops.model import Loop
from opencode_memory.loops.records import Loops
from opencode_memory.store.documents import Change

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


def _forget(store: MemoryStore, loop: Loop) -> bool:
    unchanged = Change(kind=LOOP, name=loop.id, expected=loop.revision)
    records = list(_deletions(store, loop))
    try:
        for start in range(0, len(records), _MOST_AT_ONCE):
            store.documents.write([unchanged, *records[start : start + _MOST_AT_ONCE]])
        # At last, so that the next run finds the rest if the process dies meanwhile.
        store.documents.write([replace(unchanged, deletes=True)])
    except ConflictError:
        return False
    return True


def _deletions(store: MemoryStore, loop: Loop) -> Iterator[Change]:
    """Yield the deletions of all records of a loop but its own. The steps are last, because they name the sessions."""
    documents = store.documents
    sessions = [step.session for step in Loops(store).steps(loop.id) if step.session]
    named = [(LEASE, loop.id), (RUN, loop.id), *((SESSION, session) for session in sessions)]
    for kind, name in named:
        if (found := documents.get(kind, name)) is not None:
            yield Change(kind=kind, name=name, expected=found.version, deletes=True)
    folder = documents.get(FOLDER, folder_name(loop.directory))
    if folder is not None and folder.body == {"loop": loop.id}:
        yield Change(kind=FOLDER, name=folder.name, expected=folder.version, deletes=True)
    for kind in (EVENT, REPORT, STEP):
        for document in documents.list(kind, prefix=f"{loop.id}/"):
            yield Change(kind=kind, name=document.name, expected=document.version, deletes=True)
