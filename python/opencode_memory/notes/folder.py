"""Keeping the memories of a file or folder of notes in step with it.

Each section of a note is one memory, known by its topic (``file:docs/setup.md#Setup/Linux``). Running again after an
edit updates, after a deletion archives, and changes nothing when nothing changed. A memory that a person archived stays
archived; one that was archived because its section had gone comes back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import NewMemory, RememberStatus, Scope, Status
from opencode_memory.notes.files import Skipped, find_notes
from opencode_memory.notes.note_memories import make_file_name, make_mark, parse_file_name, parse_mark, read_memories
from opencode_memory.projects.identity import real

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did, counted in memories.

    Attributes:
        files: Notes that were read.
        added: Sections that were new.
        updated: Sections whose text had changed.
        unchanged: Sections that were as they had been, or that a person has archived.
        archived: Memories whose section is gone.
        skipped: Files and sections that were passed over, and why.
    """

    files: int
    added: int
    updated: int
    unchanged: int
    archived: int
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store has for a topic.

    Attributes:
        id: The memory.
        status: Where it is in its life.
        fingerprint: The section as it was when it was read last; empty when something else wrote the memory.
        gone: Whether it was an ingest that archived it, because the section had gone.
        metadata: All of the memory's metadata.
    """

    id: str
    status: Status
    fingerprint: str
    gone: bool
    metadata: Mapping[str, Any]


@dataclass(slots=True)
class _Tally:
    """Counts of a running ingest, and the topics and files that it has met."""

    files: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    topics: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, skipped: Skipped, base: Path | None) -> None:
        """Pass a file or folder over; what was read from it before is left alone."""
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
    """Bring the memories of a note, or of all notes under a folder, in step with the files.

    Args:
        store: Where the memories are.
        path: A file, of any extension, or a folder; one that is gone archives what was read from it.
        project: Project of the memories; None for the store's own.
        top: Work tree of the project, from which paths count; files outside of it, and all files where there is no
            project, are known by their absolute path.
        dry_run: Only say what would be done.
        zone: Zone of the dates in front matter; None for this machine's.
        progress: Called with the files done and the files there are.

    Raises:
        InvalidInputError: There is no such file, and nothing was ever read from it; or it is an export of the store.
    """
    path = real(path)
    exports = real(store.data_dir / EXPORTS)
    if path.is_relative_to(exports):
        error = InvalidInputError(f"{path} is no note: exports of the store lie there", field="path")
        error.hint = "an import reads exports"
        raise error
    owner = project if project is not None else store.project
    # Without a project, the notes of two work trees would share their names.
    base = real(top) if top is not None and owner is not None and path.is_relative_to(real(top)) else None
    name = make_file_name(path, base)
    known = _read_known(store, owner, name)
    if not path.exists() and not known:
        raise InvalidInputError(f"{path} does not exist, and nothing was read from it before", field="path")
    tally = _Tally()
    notes = [note for note in _select(path, base, tally) if not note.is_relative_to(exports)]
    changes = _read_changes(notes, known, tally, project=project, base=base, zone=zone, progress=progress)
    if dry_run:
        _consume(changes)
    else:
        results = store.remember_many(_restore_archived(store, known, changes))
        if kept := sum(result.status is RememberStatus.KEPT for result in results):
            reason = f"{kept} memories are of higher trust; the file's text waits as a candidate"
            tally.skipped.append(Skipped(str(path), reason))
    gone = [memory for topic, memory in known.items() if _is_gone(topic, memory, name, tally)]
    for memory in () if dry_run else gone:
        store.edit(memory.id, metadata={**memory.metadata, **make_mark(memory.fingerprint, gone=True)})
        store.archive(memory.id, reason="its section is gone")
    return IngestReport(
        files=tally.files,
        added=tally.added,
        updated=tally.updated,
        unchanged=tally.unchanged,
        archived=len(gone),
        skipped=tuple(tally.skipped),
    )


def _select(path: Path, base: Path | None, tally: _Tally) -> list[Path]:
    """Return the notes to read; those that are passed over are told to the tally."""
    if not path.is_dir():
        return [path] if path.exists() else []
    notes: list[Path] = []
    for found in find_notes(path, top=base or path):
        if isinstance(found, Skipped):
            tally.skip(found, base)
        else:
            notes.append(found)
    return notes


def _read_changes(
    notes: Sequence[Path],
    known: Mapping[str, _Known],
    tally: _Tally,
    *,
    project: str | None,
    base: Path | None,
    zone: tzinfo | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[NewMemory]:
    """Yield the memories that have to be written, reading one note at a time."""
    for done, note in enumerate(notes, start=1):
        try:
            memories = list(read_memories(note, make_file_name(note, base), project=project, zone=zone))
        except ValueError as error:
            tally.skip(Skipped(str(note), str(error)), base)
        except OSError as error:
            tally.skip(Skipped(str(note), error.strerror or str(error)), base)
        else:
            tally.files += 1
            for memory in memories:
                if _needs_write(memory, known, tally):
                    yield memory
        if progress is not None:
            progress(done, len(notes))


def _needs_write(memory: NewMemory, known: Mapping[str, _Known], tally: _Tally) -> bool:
    """Say whether the store has to hear of a section, and count it."""
    topic = memory.topic or ""
    before = known.get(topic)
    if before is not None and (before.fingerprint, before.gone) == parse_mark(memory.metadata):
        tally.topics.add(topic)
        tally.unchanged += 1
        return False
    if before is None or before.status is Status.CANDIDATE:
        # A topic is unique among active memories only, so a waiting candidate is replaced, not updated.
        tally.added += 1
    else:
        tally.topics.add(topic)
        tally.updated += 1
    return True


def _is_gone(topic: str, memory: _Known, name: str, tally: _Tally) -> bool:
    """Say whether a memory has to be archived because its section is not in what is called ``name`` any more."""
    file = parse_file_name(topic)
    # Hidden notes are read only when they are named.
    below = file.removeprefix(name).split("/")
    was_unread = any(part.startswith(".") for part in below) or any(_lies_under(file, other) for other in tally.unread)
    return memory.status is not Status.ARCHIVED and topic not in tally.topics and not was_unread


def _restore_archived(
    store: MemoryStore, known: Mapping[str, _Known], changes: Iterator[NewMemory]
) -> Iterator[NewMemory]:
    """Restore the archived memory of a section that is back, so that it is updated and keeps its history."""
    for memory in changes:
        before = known.get(memory.topic or "")
        if before is not None and before.status is Status.ARCHIVED and memory.status == Status.ACTIVE:
            store.restore(before.id)
        yield memory


def _read_known(store: MemoryStore, project: str | None, name: str) -> dict[str, _Known]:
    """Return what earlier runs left of a file or folder in a project, or in none, by topic."""
    scope = Scope.owned_by(project)
    known: dict[str, _Known] = {}
    # In this order an active memory wins over a candidate, and that over an archived one of the same topic.
    for status in (Status.ARCHIVED, Status.CANDIDATE, Status.ACTIVE):
        offset = 0
        while page := store.list(scope=scope, status=status, limit=_PAGE, offset=offset):
            offset += len(page)
            for memory in page:
                if memory.topic is not None and _lies_under(parse_file_name(memory.topic), name):
                    known[memory.topic] = _to_known(memory)
    return known


def _lies_under(file: str, name: str) -> bool:
    if not name:  # The whole work tree, from which absolute names lead away.
        return not file.startswith("/")
    return file == name or file.startswith(name.rstrip("/") + "/")


def _to_known(memory: Memory) -> _Known:
    fingerprint, gone = parse_mark(memory.metadata)
    return _Known(memory.id, memory.status, fingerprint, gone, memory.metadata)


def _consume(changes: Iterator[NewMemory]) -> None:
    for _ in changes:
        pass
