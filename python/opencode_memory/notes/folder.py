"""Ingest of notes: updates the memories of a file or folder from its current content.

Each section of a note is one memory, identified by its topic (``file:docs/setup.md#Setup/Linux``). A changed section
updates its memory, and a deleted one archives it. A memory that the user archived stays archived. A memory that was
archived because its section was deleted is restored with the section.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.learning.rejections import are_sections_rejected
from opencode_memory.learning.review import REPLACES
from opencode_memory.models import NewMemory, RememberStatus, Scope, Status
from opencode_memory.notes.files import Skipped, find_notes
from opencode_memory.notes.note_memories import (
    locate_file,
    make_file_name,
    make_mark,
    parse_file_name,
    parse_mark,
    read_memories,
)
from opencode_memory.notes.tree import is_note
from opencode_memory.projects.identity import real
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 1000
_BATCH: Final = 250
"""Sections in one transaction, which an interrupt can lose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """Result of an ingest, counted in memories.

    Attributes:
        files: Number of notes that were read.
        added: New sections.
        updated: Sections with changed text.
        unchanged: Sections that did not change, or that the user has archived.
        archived: Memories whose section was deleted.
        skipped: Skipped files and sections, with the reasons.
    """

    files: int
    added: int
    updated: int
    unchanged: int
    archived: int
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """Stored memory of a topic.

    Attributes:
        id: Id of the memory.
        file: Name of the file in its topic.
        status: Status of the memory.
        fingerprint: Fingerprint of the section at the last ingest; empty if the memory was not written by an ingest.
        gone: Whether an ingest archived the memory because its section was deleted.
        metadata: Metadata of the memory.
    """

    id: str
    file: str
    status: Status
    fingerprint: str
    gone: bool
    metadata: Mapping[str, Any]


@dataclass(slots=True)
class _Tally:
    """Counters of a running ingest, with the topics and files it has met."""

    files: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    topics: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, skipped: Skipped, base: Path | None) -> None:
        """Skip a file or folder; its memories stay unchanged."""
        self.unread.add(make_file_name(Path(skipped.file), base))
        self.skipped.append(skipped)


def ingest(
    store: MemoryStore,
    path: Path,
    *,
    project: str | None = None,
    top: Path | None = None,
    dry_run: bool = False,
    zone: tzinfo | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    """Update the memories of a note, or of all notes in a folder, from the files.

    Args:
        store: Where the memories are.
        path: A file with any extension, or a folder. If it is gone, its memories are archived.
        project: Project of the memories; None for the project of the store.
        top: Top of the project's work tree, to which topics are relative. Files outside of it, and files without a
            project, are identified by their absolute path.
        dry_run: Whether to report only, without writing.
        zone: Zone of the dates in front matter; None for this machine's.
        progress: Called with the number of processed files and their total.

    Raises:
        InvalidInputError: The path neither exists nor has memories, or it is an export of the store.
    """
    path = real(path)
    exports = real(store.data_dir / EXPORTS)
    if path.is_relative_to(exports):
        error = InvalidInputError(f"{path} is not a note: it is in the folder of the store's exports", field="path")
        error.hint = "use import to read exports"
        raise error
    owner = project if project is not None else store.project
    # Without a project, notes with the same relative path in two work trees would share a topic.
    base = real(top) if top is not None and owner is not None and path.is_relative_to(real(top)) else None
    name = make_file_name(path, base)
    known = _read_known(store, owner, name)
    if not path.exists() and not known:
        raise InvalidInputError(f"{path} does not exist, and no memories were read from it before", field="path")
    # One undo takes back the whole ingest.
    store = store.in_one_operation()
    tally = _Tally()
    notes = [note for note in _select(path, base, tally) if not note.is_relative_to(exports)]
    changes = _read_changes(
        store, notes, known, tally, project=project, owner=owner, base=base, zone=zone, progress=progress
    )
    if dry_run:
        _consume(changes)
    else:
        written: list[tuple[str, Mapping[str, Any]]] = []
        results = store.remember_many(_restore_archived(store, known, changes, written), batch_size=_BATCH)
        kept = 0
        for result, (topic, mark) in zip(results, written, strict=True):
            if result.status is RememberStatus.KEPT:
                kept += 1
                if (held := known.get(topic)) is not None:
                    tally.updated -= 1
                    _note_proposal(store, result.id, mark, held)
        if kept:
            reason = f"{format_count(kept, 'memory')} of higher trust stayed; the file's text waits for review"
            tally.skipped.append(Skipped(str(path), reason))
    gone = [memory for topic, memory in known.items() if _is_gone(topic, memory, name, base, tally)]
    if gone and not dry_run:
        for memory in gone:
            store.edit(memory.id, metadata={**memory.metadata, **make_mark(memory.fingerprint, gone=True)})
        store.archive([memory.id for memory in gone], reason="its section is gone")
    return IngestReport(
        files=tally.files,
        added=tally.added,
        updated=tally.updated,
        unchanged=tally.unchanged,
        archived=len(gone),
        skipped=tuple(tally.skipped),
    )


def _select(path: Path, base: Path | None, tally: _Tally) -> list[Path]:
    """Return the notes to read, and count the skipped ones."""
    if not path.is_dir():
        return [path] if path.exists() else []
    notes: list[Path] = []
    for found in find_notes(path, top=base or path):
        if isinstance(found, Skipped):
            tally.skip(found, base)
        else:
            notes.append(found)
    return notes


def _section_of(memory: NewMemory) -> tuple[str, str]:
    return memory.topic or "", parse_mark(memory.metadata)[0]


def _read_changes(
    store: MemoryStore,
    notes: Sequence[Path],
    known: Mapping[str, _Known],
    tally: _Tally,
    *,
    project: str | None,
    owner: str | None,
    base: Path | None,
    zone: tzinfo | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[NewMemory]:
    """Yield new and changed memories, reading one note at a time. A memory that the user deleted is not yielded."""
    for done, note in enumerate(notes, start=1):
        try:
            memories = list(read_memories(note, make_file_name(note, base), project=project, zone=zone))
        except ValueError as error:
            tally.skip(Skipped(str(note), str(error)), base)
        except OSError as error:
            tally.skip(Skipped(str(note), error.strerror or str(error)), base)
        else:
            tally.files += 1
            left = [memory for memory in memories if memory.topic not in known]
            rejected = are_sections_rejected(store, [_section_of(memory) for memory in left], owner)
            deleted = {memory.topic for memory, is_rejected in zip(left, rejected, strict=True) if is_rejected}
            for memory in memories:
                if memory.topic in deleted:
                    tally.unchanged += 1
                elif _needs_write(memory, known, tally):
                    yield memory
        if progress is not None:
            progress(done, len(notes))


def _needs_write(memory: NewMemory, known: Mapping[str, _Known], tally: _Tally) -> bool:
    """Count a section, and return whether it has to be written."""
    topic = memory.topic or ""
    before = known.get(topic)
    if before is not None and (before.fingerprint, before.gone) == parse_mark(memory.metadata):
        tally.topics.add(topic)
        tally.unchanged += 1
        return False
    if before is None or before.status in {Status.CANDIDATE, Status.SUPERSEDED}:
        # A topic is unique among active memories only, so the section's new text becomes a new memory.
        tally.added += 1
    else:
        tally.topics.add(topic)
        tally.updated += 1
    return True


def _is_gone(topic: str, memory: _Known, name: str, base: Path | None, tally: _Tally) -> bool:
    """Return whether a memory has to be archived because its section is no longer in the path called ``name``."""
    if not memory.fingerprint:
        return False  # the user or an agent stored it and chose a topic that looks like one of a note
    file = memory.file
    # Hidden notes are only read when the user names them.
    below = file.removeprefix(name).split("/")
    was_unread = any(part.startswith(".") for part in below) or any(_lies_under(file, other) for other in tally.unread)
    if file != name and not is_note(below[-1]):
        # So are files with another ending, for example .txt.
        was_unread |= os.path.lexists(locate_file(file, base))
    return memory.status in {Status.ACTIVE, Status.CANDIDATE} and topic not in tally.topics and not was_unread


def _note_proposal(store: MemoryStore, id_: str, mark: Mapping[str, Any], held: _Known) -> None:
    """Note at a memory of higher trust that its section's new text was proposed, so that no ingest proposes it again.

    If the user accepts the new text, it takes the place of the memory.
    """
    store.edit(held.id, metadata={**held.metadata, **mark})
    store.edit(id_, metadata={**mark, REPLACES: held.id})


def _restore_archived(
    store: MemoryStore,
    known: Mapping[str, _Known],
    changes: Iterator[NewMemory],
    written: list[tuple[str, Mapping[str, Any]]],
) -> Iterator[NewMemory]:
    """Restore the archived memory of a section that exists again, so that it keeps its history.

    Topic and metadata of each are also added to ``written``, because a result does not name them.
    """
    for memory in changes:
        before = known.get(memory.topic or "")
        if before is not None and before.status is Status.ARCHIVED and memory.status == Status.ACTIVE:
            # A memory that waited for review stays archived. Its section gets a new one.
            with suppress(ConflictError):
                store.restore(before.id)
        written.append((memory.topic or "", memory.metadata))
        yield memory


def _read_known(store: MemoryStore, project: str | None, name: str) -> dict[str, _Known]:
    """Return the memories of a file or folder from earlier ingests, by topic."""
    scope = Scope.owned_by(project)
    known: dict[str, _Known] = {}
    # In this order an active memory replaces a candidate, and that one that was put away, of the same topic.
    for status in (Status.SUPERSEDED, Status.ARCHIVED, Status.CANDIDATE, Status.ACTIVE):
        offset = 0
        while page := store.list(scope=scope, status=status, limit=_PAGE, offset=offset):
            offset += len(page)
            for memory in page:
                file = None if memory.topic is None else parse_file_name(memory.topic)
                if memory.topic is not None and file is not None and _lies_under(file, name):
                    known[memory.topic] = _to_known(memory, file)
    return known


def _lies_under(file: str, name: str) -> bool:
    if not name:  # The whole work tree; files outside of it have absolute names.
        return not file.startswith("/")
    return file == name or file.startswith(name.rstrip("/") + "/")


def _to_known(memory: Memory, file: str) -> _Known:
    fingerprint, gone = parse_mark(memory.metadata)
    return _Known(memory.id, file, memory.status, fingerprint, gone, memory.metadata)


def _consume(changes: Iterator[NewMemory]) -> None:
    for _ in changes:
        pass
