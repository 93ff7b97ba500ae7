"""Forgets loops that ended long ago. Their branches, folders and plans stay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from opencode_memory.errors import ConflictError
from opencode_memory.loops.documents import EVENT, FOLDER, LEASE, LOOP, REPORT, RUN, SESSION, STEP, folder_name
from opencode_memory.loops.model import Loop
from opencode_memory.loops.records import Loops
from opencode_memory.store.documents import Change

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


def forget_old_loops(store: MemoryStore, *, before: datetime) -> int:
    """Delete the records of loops that ended before a time; return their number.

    A loop that another process changes meanwhile is left for the next time.
    """
    ended = (loop for loop in Loops(store).list_all() if loop.state.has_ended)
    return sum(_forget(store, loop) for loop in ended if (loop.changed_at or loop.created_at) < before)


def _forget(store: MemoryStore, loop: Loop) -> bool:
    try:
        store.documents.write(_deletions(store, loop))
    except ConflictError:
        return False
    return True


def _deletions(store: MemoryStore, loop: Loop) -> Iterator[Change]:
    documents = store.documents
    yield Change(kind=LOOP, name=loop.id, expected=loop.revision, deletes=True)
    for kind in (STEP, EVENT, REPORT):
        for document in documents.list(kind, prefix=f"{loop.id}/"):
            yield Change(kind=kind, name=document.name, expected=document.version, deletes=True)
    sessions = [step.session for step in Loops(store).steps(loop.id) if step.session]
    named = [(LEASE, loop.id), (RUN, loop.id), *((SESSION, session) for session in sessions)]
    for kind, name in named:
        if (found := documents.get(kind, name)) is not None:
            yield Change(kind=kind, name=name, expected=found.version, deletes=True)
    folder = documents.get(FOLDER, folder_name(loop.directory))
    if folder is not None and folder.body == {"loop": loop.id}:
        yield Change(kind=FOLDER, name=folder.name, expected=folder.version, deletes=True)
