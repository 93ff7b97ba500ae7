"""Finds sections whose file or heading was renamed, and gives their memories the new topics.

A section counts as moved if its text is found at a new place and is gone from its old place. If the text is still at
the old place, the new section is a copy and gets a memory of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.errors import NotFoundError
from opencode_memory.models import Category, Memory, NewMemory, Source, Status
from opencode_memory.notes.categories import guess_category
from opencode_memory.notes.known import Known
from opencode_memory.notes.moves import NewPlace, OldPlace, match_sections
from opencode_memory.notes.note_memories import hash_text, locate_file, read_memories
from opencode_memory.store.relocations import Relocation
from opencode_memory.text.section_mark import SectionMark, headings_of, is_long, read_mark

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_REDACTED: Final = "[redacted:"
_RANKS: Final = {Status.ACTIVE: 0, Status.CANDIDATE: 1, Status.SUPERSEDED: 2, Status.ARCHIVED: 3}
_OF_A_NOTE: Final = ("title", "front_matter")
"""Members of the metadata that the note gives, apart from the mark."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A section whose file or heading was renamed.

    Attributes:
        id: Id of its memory.
        old: Its former topic.
        new: Its topic now.
        edited: Whether its text was changed as well.
    """

    id: str
    old: str
    new: str
    edited: bool = False


class TextIndex:
    """The texts of known sections, by which a section at a new place is recognised."""

    def __init__(self, known: Mapping[str, Known]) -> None:
        self._by_text: dict[str, list[Known]] = {}
        for memory in known.values():
            if memory.mark.fingerprint:
                self._by_text.setdefault(_name_known(memory), []).append(memory)

    def find(self, section: NewMemory) -> tuple[str, list[Known]]:
        """Return the name of a section's text, and the known sections that have the text; none if it is new."""
        names = _list_names(section.category, read_mark(section.metadata))
        return next(((name, self._by_text[name]) for name in names if name in self._by_text), (names[0], []))


def _name_known(known: Known) -> str:
    return _list_names(known.category, known.mark)[0]


def _list_names(category: str, mark: SectionMark) -> list[str]:
    # Otherwise a move would turn other words into a directive.
    end = "!" if category == Category.DIRECTIVE else ""
    return [f"{name}{end}" for name in ([mark.body] if mark.body else []) + [f"text:{mark.fingerprint}"]]


def find_moved(
    sections: Sequence[NewMemory],
    index: TextIndex,
    known: Mapping[str, Known],
    *,
    has_left: Callable[[Known], bool],
    is_present: Callable[[str], bool],
) -> dict[str, Known]:
    """Return the known section that each new one is, by the new topic. Other sections are left out.

    Args:
        sections: New and changed sections, in the order of the notes.
        index: The texts of known sections.
        known: The known sections, by topic.
        has_left: Returns whether a known section that was not found is no longer at its place.
        is_present: Returns whether a section was found at a topic.
    """
    found: list[NewPlace] = []
    candidates: dict[str, list[Known]] = {}
    changed = {section.topic or "" for section in sections}
    staying = {
        topic for section in sections if (topic := section.topic or "") in known and is_same_text(known[topic], section)
    }
    for section in sections:
        topic = section.topic or ""
        if topic not in staying:
            here = known.get(topic)
            text, ones = index.find(section)
            candidates[text] = ones
            found.append(NewPlace(topic=topic, text=text, is_taken=here is not None and not here.mark.gone))
    left: list[OldPlace] = []
    for text, ones in candidates.items():
        for memory in ones:
            is_here = is_present(memory.topic)
            if memory.topic not in staying and (memory.topic in changed if is_here else has_left(memory)):
                left.append(_to_old(memory, text, is_taken=is_here and not memory.mark.gone))
    in_order = sorted(left, key=lambda place: (known[place.topic].file, known[place.topic].line))
    matched = match_sections(in_order, found, is_long=is_long)
    return {new: known[old] for new, old in matched.items()}


def is_same_text(known: Known, section: NewMemory) -> bool:
    """Return whether a section has the text of a known one, apart from its headings and blank lines."""
    mark = read_mark(section.metadata)
    return known.mark.fingerprint == mark.fingerprint or (known.mark.body != "" and known.mark.body == mark.body)


def _to_old(known: Known, text: str, *, is_taken: bool) -> OldPlace:
    return OldPlace(
        topic=known.topic, text=text, is_fresh=not known.mark.gone, is_taken=is_taken, rank=_RANKS[known.status]
    )


class OtherNotes:
    """Looks into notes outside of the ingested path, to see whether a section is still there.

    Args:
        base: Top of the work tree, to which names are relative; None if names are absolute.
        zone: Zone of the dates in front matter.
    """

    def __init__(self, base: Path | None, zone: tzinfo | None) -> None:
        self._base = base
        self._zone = zone
        self._topics: dict[str, frozenset[str] | None] = {}

    def has_left(self, known: Known) -> bool:
        """Return whether a section is no longer in its note; false if that is unknown."""
        if known.mark.gone and known.status is Status.ARCHIVED:
            return True
        if known.file not in self._topics:
            self._topics[known.file] = self._read(known.file)
        topics = self._topics[known.file]
        return topics is not None and known.topic not in topics

    def is_missing(self, file: str) -> bool:
        """Return whether a note no longer exists."""
        path = locate_file(file, self._base)
        return _REDACTED not in file and path.is_absolute() and not os.path.lexists(path)

    def _read(self, file: str) -> frozenset[str] | None:
        """Return the topics of a note; None if they are unknown."""
        path = locate_file(file, self._base)
        if _REDACTED in file or not path.is_absolute():
            return None
        try:
            if not os.path.lexists(path):
                return frozenset()
            if path.is_symlink() or not path.is_file():
                return None
            return frozenset(memory.topic or "" for memory in read_memories(path, file, project=None, zone=self._zone))
        except (OSError, ValueError):
            return None


def move_memories(
    store: MemoryStore, project: str | None, moves: Sequence[tuple[Known, NewMemory]], *, batch_size: int
) -> list[bool]:
    """Move the memories of sections to their new places; return for each whether it is there.

    Args:
        store: The store.
        project: The project of the memories; None for global ones.
        moves: Each memory, and its section at the new place.
        batch_size: Number of moves in one transaction, unless they depend on each other.
    """
    relocations = {
        number: relocation for number, move in enumerate(moves) if (relocation := _relocate(store, *move)) is not None
    }
    moved = [False] * len(moves)
    for batch in _list_batches(moves, batch_size):
        chosen = [number for number in batch if number in relocations]
        results = store.relocations.apply(project, [relocations[number] for number in chosen]) if chosen else []
        for number, result in zip(chosen, results, strict=True):
            moved[number] = result
    return moved


def _list_batches(moves: Sequence[tuple[Known, NewMemory]], batch_size: int) -> Iterator[Sequence[int]]:
    """Yield numbers of moves. Those that need a topic that another one leaves are in one batch."""
    old, new = {known.topic for known, _ in moves}, {section.topic for _, section in moves}
    linked = [number for number, (known, to) in enumerate(moves) if known.topic in new or to.topic in old]
    if linked:
        yield linked
    apart = sorted(set(range(len(moves))).difference(linked))
    yield from (apart[start : start + batch_size] for start in range(0, len(apart), batch_size))


def _relocate(store: MemoryStore, known: Known, section: NewMemory) -> Relocation | None:
    try:
        memory = store.get(known.id)
    except NotFoundError:
        return None  # Another writer has deleted it meanwhile.
    source = section.source if isinstance(section.source, Source) else Source()
    is_gone = memory.status is Status.ARCHIVED and read_mark(memory.metadata).gone
    return Relocation(
        memory=memory,
        topic=section.topic or "",
        source=source,
        followers=known.older,
        metadata={**dict.fromkeys(_OF_A_NOTE), **section.metadata},
        content=_find_new_text(memory, section.content),
        category=_find_new_category(memory, known, Category(section.category)),
        revived_as=Status(section.status) if is_gone else None,
    )


def _find_new_text(memory: Memory, content: str) -> str | None:
    """Return the section's text if it only has other headings; None if the memory keeps its text."""
    content, _ = redact(content)
    if memory.content == content:
        return None
    stored = hash_text(memory.content)
    return content if stored and stored == hash_text(content) else None


def _find_new_category(memory: Memory, known: Known, category: Category) -> Category | None:
    """Return the category of the new place; None if the memory has another one than its old place gave it."""
    headings = headings_of(known.topic).split("/")
    is_guessed = memory.category is guess_category(PurePosixPath(known.file), headings)
    return category if is_guessed and memory.category is not category else None
