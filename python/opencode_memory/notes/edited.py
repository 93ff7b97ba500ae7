"""Finds sections that were moved and edited at once, so that their memories get the new place and the new text.

Only sections that have left their place since the last ingest are considered. Sections of which the user deleted or
replaced the memory, or that wait for a review, are not: their new text is a new memory, as after an edit in its place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.errors import NotFoundError
from opencode_memory.models import Category, NewMemory, Status
from opencode_memory.notes.edits import Files, find_replaced, match_edited
from opencode_memory.notes.known import Known
from opencode_memory.notes.note_memories import file_of
from opencode_memory.text.section_mark import headings_of

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_KEPT: Final = frozenset({Status.ACTIVE, Status.ARCHIVED})


class Departures:
    """Tells which new sections may be edited ones that were moved, before all notes are read.

    Args:
        known: The known sections, by topic.
        is_missing: Returns whether a file no longer exists.
    """

    def __init__(self, known: Mapping[str, Known], is_missing: Callable[[str], bool]) -> None:
        self._is_missing = is_missing
        self._by_file: dict[str, list[Known]] = defaultdict(list)
        for section in known.values():
            if _is_traceable(section):
                self._by_file[section.file].append(section)

    @cached_property
    def _missing(self) -> tuple[frozenset[str], bool]:
        """The headings in missing files, and whether one of the files had one section."""
        files = [ones for file, ones in self._by_file.items() if self._is_missing(file)]
        headings = frozenset(headings_of(section.topic) for ones in files for section in ones)
        return headings, any(len(ones) == 1 for ones in files)

    def may_include(self, file: str, present: Collection[str], new: Iterable[str]) -> bool:
        """Return whether a section of a note may be an edited one that was moved.

        Args:
            file: Name of the note.
            present: Topics of all its sections.
            new: Topics without a memory.
        """
        if any(section.topic not in present for section in self._by_file.get(file, ())):
            return True
        headings, has_single = self._missing
        return (has_single and len(present) == 1) or any(headings_of(topic) in headings for topic in new)


def find_edited(
    store: MemoryStore,
    sections: Sequence[NewMemory],
    matched: Mapping[str, Known],
    known: Mapping[str, Known],
    *,
    has_left: Callable[[Known], bool],
    present: Collection[str],
) -> dict[str, Known]:
    """Return the known section that each edited and moved one is, by the new topic. Other sections are left out.

    Args:
        store: The store with the texts of the known sections.
        sections: New and changed sections, without those that the user rejected.
        matched: Known sections that were moved without an edit, by the new topic.
        known: The known sections, by topic.
        has_left: Returns whether a known section that was not found is no longer at its place.
        present: Topics of all sections that were read.
    """
    files = Files(
        before=Counter(memory.file for memory in known.values() if memory.mark.fingerprint and not memory.mark.gone),
        after=Counter(file_of(topic) for topic in present),
    )
    moved = {new: memory.topic for new, memory in matched.items()}
    leaving = set(moved.values())
    replaced = find_replaced(moved, files)
    new = {
        topic: redact(section.content)[0]
        for section in sections
        if (topic := section.topic or "") not in matched
        and (topic not in known or topic in leaving or file_of(topic) in replaced)
    }
    if not new:
        return {}

    def is_left(memory: Known) -> bool:
        if memory.topic in present:
            return memory.topic in matched or (memory.file in replaced and memory.topic in new)
        return has_left(memory)

    old = [
        memory.topic
        for memory in known.values()
        if memory.topic not in leaving and _is_traceable(memory) and is_left(memory)
    ]
    found = match_edited(old, new, read_old=lambda topic: _read(store, known[topic].id), moved=moved, files=files)
    directives = {section.topic for section in sections if section.category == Category.DIRECTIVE}
    # Otherwise a move would turn other words into a directive.
    return {
        topic: memory
        for topic, before in found.items()
        if (topic in directives) is ((memory := known[before]).category is Category.DIRECTIVE)
    }


def list_moves(sections: Iterable[NewMemory], edited: Mapping[str, Known]) -> Iterator[tuple[Known, NewMemory]]:
    """Yield each memory, and its section at the new place as a move writes it.

    The edit of an active memory is written after the move. Until then, the memory keeps the mark of the text that it
    has, so that the next ingest finds the edit if this one ends early. An archived memory stays as it is.
    """
    for section in sections:
        if (known := edited.get(section.topic or "")) is not None:
            is_written = known.status is Status.ACTIVE
            yield known, replace(section, metadata=known.mark.to_metadata()) if is_written else section


def _is_traceable(known: Known) -> bool:
    """Return whether the memory of a section is one that follows its section."""
    return known.mark.fingerprint != "" and not known.mark.gone and known.status in _KEPT


def _read(store: MemoryStore, id_: str) -> str:
    try:
        return store.get(id_).content
    except NotFoundError:
        return ""  # Another writer has deleted it meanwhile, so it cannot be moved.
