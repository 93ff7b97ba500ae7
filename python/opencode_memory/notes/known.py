"""Memories of sections from earlier ingests, as an ingest finds them in the store."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencode_memory.models import Category, Memory, Scope, Status, Trust
from opencode_memory.notes.note_memories import find_body, locate_file, parse_file_name
from opencode_memory.notes.tree import is_note
from opencode_memory.store.pages import list_all
from opencode_memory.text.section_mark import SectionMark, read_mark

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Known:
    """Stored memory of a topic.

    Attributes:
        id: Id of the memory.
        topic: The topic.
        file: Name of the file in the topic.
        status: Status of the memory.
        category: Its category.
        mark: The section at the last ingest.
        line: Its line then.
        metadata: Metadata of the memory.
        keeps_text: Whether a new text of the section waits for a review, because the user vouches for the stored one.
        older: Ids of memories of the same topic that were put away, or wait beside this one.
        waiting: Those of them that wait for a review.
        archived: The marks of those that are archived.
    """

    id: str
    topic: str
    file: str
    status: Status
    category: Category
    mark: SectionMark
    line: int
    metadata: Mapping[str, Any]
    keeps_text: bool
    older: tuple[str, ...] = ()
    waiting: tuple[Known, ...] = ()
    archived: tuple[SectionMark, ...] = ()

    @property
    def gone_mark(self) -> dict[str, Any]:
        """The metadata of this memory, with the note that its section was deleted."""
        return {**self.metadata, **replace(self.mark, gone=True).to_metadata()}


def read_known(store: MemoryStore, project: str | None) -> dict[str, Known]:
    """Return the memories of a project's notes from earlier ingests, by topic."""
    scope = Scope.owned_by(project)
    known: dict[str, Known] = {}
    # In this order an active memory replaces a candidate, and that one that was put away, of the same topic.
    for status in (Status.SUPERSEDED, Status.ARCHIVED, Status.CANDIDATE, Status.ACTIVE):
        for memory in list_all(store, scope=scope, status=status):
            file = None if memory.topic is None else parse_file_name(memory.topic)
            if memory.topic is not None and file is not None:
                one, before = _to_known(memory, memory.topic, file), known.get(memory.topic)
                known[memory.topic] = one if before is None else _combine(before, one)
    return known


def _combine(before: Known, one: Known) -> Known:
    """Return the later of two memories of a topic, with the earlier one. A present section precedes a gone one."""
    if before.status is one.status is Status.ARCHIVED and one.mark.gone and not before.mark.gone:
        before, one = one, before
    waiting = (before,) if before.status is Status.CANDIDATE else ()
    archived = (before.mark,) if before.status is Status.ARCHIVED else ()
    return replace(
        one,
        older=(*before.older, *one.older, before.id),
        waiting=(*before.waiting, *one.waiting, *waiting),
        archived=(*before.archived, *one.archived, *archived),
    )


def _to_known(memory: Memory, topic: str, file: str) -> Known:
    mark = read_mark(memory.metadata)
    return Known(
        id=memory.id,
        topic=topic,
        file=file,
        status=memory.status,
        category=memory.category,
        mark=replace(mark, body=find_body(memory)) if mark.fingerprint else mark,
        line=memory.source.line or 0,
        metadata=memory.metadata,
        keeps_text=memory.trust is not Trust.IMPORTED or memory.verified_at is not None,
    )


def lies_under(file: str, name: str) -> bool:
    """Return whether a file is one of the path that is called ``name``, or lies below it."""
    if not name:  # The whole work tree; files outside of it have absolute names.
        return not file.startswith("/")
    return file == name or file.startswith(name.rstrip("/") + "/")


def was_looked_for(file: str, name: str, base: Path | None, unread: Collection[str]) -> bool:
    """Return whether an ingest would have found a file of earlier memories if it still existed.

    Args:
        file: The name of a file under the path.
        name: The name of the path that was read.
        base: Top of the work tree, to which names are relative.
        unread: Names of files and folders that were skipped.
    """
    # A folder is searched for notes with a known ending that are not hidden. The user may have named another file.
    below = file.removeprefix(name).split("/")
    if any(part.startswith(".") for part in below) or _lies_under_any(file, unread):
        return False
    return file == name or is_note(below[-1]) or not os.path.lexists(locate_file(file, base))


def _lies_under_any(file: str, names: Iterable[str]) -> bool:
    return any(lies_under(file, name) for name in names)
