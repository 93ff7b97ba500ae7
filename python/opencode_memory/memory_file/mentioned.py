"""Looks up the memories that a file names.

A mark names a memory by the end of its id. It is valid only for memories of the file's own project. A bullet that was
copied from another project's file, or forged, is a new text and changes no memory there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.memory_file.diff import Known
from opencode_memory.memory_file.last_written import LastWritten
from opencode_memory.memory_file.part import read_part
from opencode_memory.memory_file.selection import is_live
from opencode_memory.models import Memory, ScopeKind, Status
from opencode_memory.text.formatting import short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_ALL: Final = 1_000_000
_MOST_LOOKED_UP: Final = 1000
"""Marks of a file that are looked for in the store; each costs a pass over its ids."""


def known_memories(
    store: MemoryStore,
    body: Sequence[str],
    last: LastWritten | None,
    *,
    project: str,
    with_global: bool,
    at: datetime,
) -> dict[str, Known]:
    """Return the memories that a managed part names, and those that its last version showed.

    Args:
        store: The store of the memories.
        body: The lines of the managed part.
        last: The last writing in this work tree.
        project: The project of the file.
        with_global: Whether the file may name global memories.
        at: The current time.

    Returns:
        By the id in the marks; memories that no mark names, by their full id.
    """
    shown = () if last is None else last.shown
    projects = (project, None) if with_global else (project,)

    def describe(id: str, memory: Memory | None) -> Known:
        own = memory if memory is not None and memory.project in projects else None
        return Known(id, own, was_shown=id in showed, is_live=own is not None and is_live(own, at=at))

    showed = frozenset(shown)
    ends = _by_end(shown)
    found: dict[str, Known] = {}
    looked_up = 0
    for name in dict.fromkeys(bullet.mark.id for bullet in read_part(body).bullets if bullet.mark):
        if name in ends:
            found[name] = describe(ends[name], _get(store, ends[name]))
        elif looked_up < _MOST_LOOKED_UP:
            looked_up += 1
            memory = _ending_with(store, name, project)
            if memory is not None and memory.project in projects:
                found[name] = describe(memory.id, memory)
    named = {known.id for known in found.values()}
    return found | {id_: describe(id_, _get(store, id_)) for id_ in shown if id_ not in named}


def _by_end(shown: Sequence[str]) -> dict[str, str]:
    """Return the ids that a file showed, by their form in the marks: the end of the id, or the whole id."""
    times = Counter(short_id(id_) for id_ in shown)
    ends = {short_id(id_): id_ for id_ in shown if times[short_id(id_)] == 1}
    return ends | {id_: id_ for id_ in shown}


def _ending_with(store: MemoryStore, name: str, project: str) -> Memory | None:
    """Return the memory whose id ends with this; None if there is none, or more than one."""
    try:
        memory = store.get(name)
    except (NotFoundError, InvalidInputError):
        return None
    except ConflictError:
        # In a large store several ids may have the same end. Only one of the project's own can be meant.
        everything = store.list(
            project=project, scope=ScopeKind.PROJECT, status=list(Status), limit=_ALL, with_expired=True
        )
        fits = [memory for memory in everything if memory.id.endswith(name)]
        return fits[0] if len(fits) == 1 else None
    return memory if memory.id.endswith(name) else None


def _get(store: MemoryStore, id: str) -> Memory | None:
    try:
        return store.get(id)
    except NotFoundError:
        return None
