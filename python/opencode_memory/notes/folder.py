"""Ingest of notes: updates the memories of a file or folder from its current content.

Each section of a note is one memory, identified by its topic (``file:docs/setup.md#Setup/Linux``). A changed section
updates its memory, and a deleted one archives it. A section whose file or heading was renamed keeps its memory, which
gets the new topic. A memory that the user archived stays archived. A memory that was archived because its section was
deleted is restored with the section.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory._core import redact
from opencode_memory.config.paths import EXPORTS
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.learning.rejections import are_sections_rejected, are_texts_rejected, name_texts
from opencode_memory.learning.review import REPLACES
from opencode_memory.models import NewMemory, RememberStatus, Status
from opencode_memory.notes.edited import Departures, find_edited, list_moves
from opencode_memory.notes.files import Skipped, find_notes
from opencode_memory.notes.known import Known, lies_under, read_known, was_looked_for
from opencode_memory.notes.moved import Moved, OtherNotes, TextIndex, find_moved, move_memories
from opencode_memory.notes.note_memories import file_of, make_file_name, read_memories
from opencode_memory.projects.identity import real
from opencode_memory.text.formatting import format_count
from opencode_memory.text.section_mark import read_mark
from opencode_memory.text.unicode import is_encodable, replace_surrogates

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

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
        moved: Sections whose file or heading was renamed. Those with changed text are also counted in ``updated``.
    """

    files: int
    added: int
    updated: int
    unchanged: int
    archived: int
    skipped: tuple[Skipped, ...]
    moved: tuple[Moved, ...] = ()


@dataclass(slots=True)
class _Tally:
    """Counters of a running ingest, with the topics and files it has met.

    Attributes:
        present: Topics of all sections that were read.
        topics: Topics whose memory stays in its place.
        unread: Names of skipped files and folders.
        rejected: Names of the texts of sections that the user put away and that are still in their places.
    """

    files: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    present: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, skipped: Skipped, base: Path | None) -> None:
        """Skip a file or folder; its memories stay unchanged."""
        self.unread.add(make_file_name(Path(skipped.file), base))
        self.skipped.append(skipped)

    def put_away(self, section: NewMemory) -> None:
        """Note that the user put a section away that is in its place, so that a copy of it is another section."""
        self.rejected.update(name_texts(section.topic or "", section.metadata))


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
        InvalidInputError: The path neither exists nor has memories, is not UTF-8, or is an export of the store.
    """
    path = real(path)
    if not is_encodable(str(path)):
        unnamed = InvalidInputError(f"path: {replace_surrogates(str(path))} is not UTF-8", field="path")
        unnamed.hint = "rename the file or the folder"
        raise unnamed
    exports = real(store.data_dir / EXPORTS)
    if path.is_relative_to(exports):
        error = InvalidInputError(f"{path} is not a note: it is in the folder of the store's exports", field="path")
        error.hint = "use import to read exports"
        raise error
    owner = project if project is not None else store.project
    # Without a project, notes with the same relative path in two work trees would share a topic.
    tree = real(top) if top is not None and owner is not None else None
    base = tree if tree is not None and path.is_relative_to(tree) else None
    name = make_file_name(path, base)
    known = read_known(store, owner)
    if not path.exists() and not any(lies_under(memory.file, name) for memory in known.values()):
        raise InvalidInputError(f"{path} does not exist, and no memories were read from it before", field="path")
    # One undo takes back the whole ingest.
    run = _Ingest(store.in_one_operation(), path, name, base, owner, known, OtherNotes(tree, zone))
    notes = [note for note in _select(path, base, run.tally) if not note.is_relative_to(exports)]
    changes = run.read(notes, project=project, zone=zone, progress=progress)
    if dry_run:
        _consume(changes)
    else:
        run.write(changes)
    return run.finish(dry_run=dry_run)


class _Ingest:
    """One ingest. First it reads and writes what needs no comparison with other sections, then the rest.

    Args:
        store: The store, for writes that are one operation.
        path: The ingested path.
        name: Its name in topics.
        base: Top of the work tree, to which names are relative; None if they are absolute.
        owner: Project of the memories; None for global ones.
        known: Memories of earlier ingests of the project, by topic.
        others: The notes that are not read.
    """

    def __init__(
        self,
        store: MemoryStore,
        path: Path,
        name: str,
        base: Path | None,
        owner: str | None,
        known: dict[str, Known],
        others: OtherNotes,
    ) -> None:
        self.tally = _Tally()
        self._store = store
        self._path = path
        self._name = name
        self._base = base
        self._owner = owner
        self._known = known
        self._others = others
        self._index = TextIndex(known)
        self._departures = Departures(known, others.is_missing)
        self._held: list[NewMemory] = []
        self._rejected: set[str] = set()

    def read(
        self,
        notes: Sequence[Path],
        *,
        project: str | None,
        zone: tzinfo | None,
        progress: Callable[[int, int], None] | None,
    ) -> Iterator[NewMemory]:
        """Yield memories that are surely new, reading one note at a time. Hold back those that may have been moved."""
        for done, note in enumerate(notes, start=1):
            try:
                memories = list(read_memories(note, make_file_name(note, self._base), project=project, zone=zone))
            except ValueError as error:
                self.tally.skip(Skipped(str(note), str(error)), self._base)
            except OSError as error:
                self.tally.skip(Skipped(str(note), error.strerror or str(error)), self._base)
            else:
                self.tally.files += 1
                yield from self._compare(memories)
            if progress is not None:
                progress(done, len(notes))

    def _compare(self, memories: Sequence[NewMemory]) -> Iterator[NewMemory]:
        """Yield the new memories of a note, and hold back others that need a write."""
        self.tally.present.update(memory.topic or "" for memory in memories)
        changed = [memory for memory in memories if not self._is_unchanged(memory)]
        unplaced = [memory for memory in changed if not self._is_in_use(memory.topic or "")]
        sections = [(memory.topic or "", read_mark(memory.metadata).fingerprint) for memory in unplaced]
        texts = [(memory.topic or "", memory.metadata) for memory in unplaced]
        rejected = {
            memory.topic: (is_here, is_elsewhere)
            for memory, is_here, is_elsewhere in zip(
                unplaced,
                are_sections_rejected(self._store, sections, self._owner),
                are_texts_rejected(self._store, texts, self._owner),
                strict=True,
            )
        }
        may_be_edited = self._may_be_edited(memories, unplaced)
        for memory in changed:
            is_here, is_elsewhere = rejected.get(memory.topic, (False, False))
            if is_here:
                self.tally.unchanged += 1
                self.tally.put_away(memory)
            elif is_elsewhere or may_be_edited or memory.topic in self._known or self._index.find(memory)[1]:
                self._held.append(memory)
                if is_elsewhere:
                    self._rejected.add(memory.topic or "")
            else:
                self.tally.added += 1
                yield memory

    def _may_be_edited(self, memories: Sequence[NewMemory], unplaced: Sequence[NewMemory]) -> bool:
        """Return whether new sections of a note may be edited ones of another place."""
        if not unplaced:
            return False
        new = [memory.topic or "" for memory in unplaced]
        file = file_of(new[0])
        present = {memory.topic or "" for memory in memories}
        return any(self._index.find(memory)[1] for memory in unplaced) or self._departures.may_include(
            file, present, new
        )

    def _is_unchanged(self, memory: NewMemory) -> bool:
        """Count a section that is as it was at the last ingest, and return whether it is."""
        before = self._known.get(memory.topic or "")
        mark = read_mark(memory.metadata)
        if before is None:
            return False
        # A section that moved to the place of another archived one has a memory of its own there.
        marks = (before.mark, *(before.archived if before.status is Status.ARCHIVED else ()))
        if all((one.fingerprint, one.gone) != (mark.fingerprint, mark.gone) for one in marks):
            return False
        self.tally.topics.add(before.topic)
        self.tally.unchanged += 1
        if before.status is Status.ARCHIVED:
            self.tally.put_away(memory)
        return True

    def _is_in_use(self, topic: str) -> bool:
        """Return whether a topic belongs to a memory that an edited section would update."""
        before = self._known.get(topic)
        return before is not None and before.status is not Status.SUPERSEDED and not before.mark.gone

    def write(self, changes: Iterable[NewMemory]) -> set[str]:
        """Write new and changed sections. Return the topics whose memory keeps its text until a review."""
        written: list[NewMemory] = []
        results = self._store.remember_many(self._restore_archived(changes, written), batch_size=_BATCH)
        kept: list[str] = []
        for result, memory in zip(results, written, strict=True):
            held = self._known.get(memory.topic or "")
            waits = memory.status == Status.CANDIDATE and held is not None and held.status is Status.ACTIVE
            if result.status is RememberStatus.KEPT or waits:
                kept.append(memory.topic or "")
                if held is not None:
                    self.tally.updated -= 1
                    _note_proposal(self._store, result.id, memory.metadata, held)
        self._skip_kept(kept)
        return set(kept)

    def _rehearse(self, changes: Iterable[NewMemory]) -> set[str]:
        """Count what ``write`` would leave to a review, and return the topics."""
        kept = [memory.topic or "" for memory in changes if self._would_keep(memory)]
        self.tally.updated -= len(kept)
        self._skip_kept(kept)
        return set(kept)

    def _would_keep(self, memory: NewMemory) -> bool:
        """Return whether the memory of a section would keep its text until a review."""
        held = self._known.get(memory.topic or "")
        if held is None or held.status not in {Status.ACTIVE, Status.ARCHIVED}:
            return False
        if memory.status == Status.CANDIDATE:
            return held.status is Status.ACTIVE
        return held.keeps_text and self._store.get(held.id).content != redact(memory.content)[0]

    def _skip_kept(self, kept: Sequence[str]) -> None:
        if kept:
            reason = f"{format_count(len(kept), 'memory')} of higher trust stayed; the file's text waits for review"
            self.tally.skipped.append(Skipped(str(self._path), reason))

    def _restore_archived(self, changes: Iterable[NewMemory], written: list[NewMemory]) -> Iterator[NewMemory]:
        """Restore the archived memory of a section that exists again, so that it keeps its history.

        Each is also added to ``written``, because a result does not name its section.
        """
        for memory in changes:
            before = self._known.get(memory.topic or "")
            if before is not None and before.status is Status.ARCHIVED and memory.status == Status.ACTIVE:
                # A memory that waited for review stays archived. Its section gets a new one.
                with suppress(ConflictError):
                    self._store.restore(before.id)
            written.append(memory)
            yield memory

    def finish(self, *, dry_run: bool) -> IngestReport:
        """Move memories, write the sections that were held back, and archive memories whose section is gone."""
        matched, edited = self._match()
        # The edited ones are moved first: the others are found by their texts, also if this ingest ends early.
        moves = [
            *list_moves(self._held, edited),
            *((matched[memory.topic], memory) for memory in self._held if memory.topic in matched),
        ]
        moving = {known.topic for known, _ in moves}
        for known, memory in moves:
            if known.status is Status.ARCHIVED and not known.mark.gone:
                self.tally.put_away(memory)
        changes = list(self._list_held({*matched, *edited}))
        for memory in changes:
            self._count_write(memory, moving)
        edits = {topic for topic, known in edited.items() if known.status is Status.ACTIVE}
        self.tally.updated += len(edits)
        gone = self._list_gone(moving)
        there = [True] * len(moves)
        if not dry_run:
            self._archive(gone)
            there = move_memories(self._store, self._owner, moves, batch_size=_BATCH)
        for topic in moving:
            del self._known[topic]
        refused = {one.topic or "" for (_, one), is_there in zip(moves, there, strict=True) if not is_there}
        self.tally.updated -= len(edits & refused)
        edits -= refused
        for topic in edits:
            self._known[topic] = replace(edited[topic], topic=topic, file=file_of(topic))
        written = [memory for memory in self._held if memory.topic in edits]
        new = self._list_new([memory for memory in self._held if memory.topic in refused])
        edits -= (self._rehearse if dry_run else self.write)([*changes, *written, *new])
        moved = [
            Moved(known.id, known.topic, topic, edited=topic in edits)
            for known, memory in moves
            if (topic := memory.topic or "") not in refused
        ]
        return IngestReport(
            files=self.tally.files,
            added=self.tally.added,
            updated=self.tally.updated,
            moved=tuple(moved),
            unchanged=self.tally.unchanged,
            archived=len(gone),
            skipped=tuple(self.tally.skipped),
        )

    def _match(self) -> tuple[dict[str, Known], dict[str, Known]]:
        """Return the memories of held sections that were moved, and those that were also edited; by the new topic."""
        matched = find_moved(
            self._held, self._index, self._known, has_left=self._has_left, is_present=self.tally.present.__contains__
        )
        edited = find_edited(
            self._store,
            [memory for memory in self._held if memory.topic not in self._rejected],
            matched,
            self._known,
            has_left=self._has_left,
            present=self.tally.present,
        )
        return matched, edited

    def _list_gone(self, moving: Collection[str]) -> list[Known]:
        """Return the memories whose section is gone. Leave out those that move to another section."""
        return [
            memory
            for known in self._known.values()
            if known.topic not in moving and self._is_gone(known)
            for memory in (known, *known.waiting)
        ]

    def _list_held(self, matched: Collection[str]) -> Iterator[NewMemory]:
        """Yield sections that were not moved, without those whose memory the user has deleted at another place."""
        for memory in self._held:
            if memory.topic in matched:
                continue
            is_copy = not self.tally.rejected.isdisjoint(name_texts(memory.topic or "", memory.metadata))
            if memory.topic in self._rejected and not is_copy:
                self.tally.unchanged += 1
            else:
                yield memory

    def _list_new(self, refused: Sequence[NewMemory]) -> Iterator[NewMemory]:
        """Yield and count sections whose memories another writer changed meanwhile, so that they could not be moved."""
        sections = [(memory.topic or "", memory.metadata) for memory in refused]
        for memory, is_rejected in zip(refused, are_texts_rejected(self._store, sections, self._owner), strict=True):
            if is_rejected:
                self.tally.unchanged += 1
            else:
                self.tally.added += 1
                yield memory

    def _count_write(self, memory: NewMemory, moving: Collection[str]) -> None:
        """Count a section that has to be written."""
        topic = memory.topic or ""
        before = None if topic in moving else self._known.get(topic)
        if before is None or before.status in {Status.CANDIDATE, Status.SUPERSEDED}:
            # A topic is unique among active memories only, so the section's new text becomes a new memory.
            self.tally.added += 1
        else:
            self.tally.topics.add(topic)
            self.tally.updated += 1

    def _has_left(self, known: Known) -> bool:
        """Return whether a section that was not found is no longer at its place."""
        if not lies_under(known.file, self._name):
            return self._others.has_left(known)
        return was_looked_for(known.file, self._name, self._base, self.tally.unread)

    def _is_gone(self, known: Known) -> bool:
        """Return whether a memory has to be archived because its section is no longer in the path."""
        return (
            known.status in {Status.ACTIVE, Status.CANDIDATE}
            and known.topic not in self.tally.topics
            # Otherwise the user or an agent stored it and chose a topic that looks like one of a note.
            and known.mark.fingerprint != ""
            and lies_under(known.file, self._name)
            and was_looked_for(known.file, self._name, self._base, self.tally.unread)
        )

    def _archive(self, gone: Sequence[Known]) -> None:
        for known in gone:
            self._store.edit(known.id, metadata=known.gone_mark)
        if gone:
            self._store.archive([known.id for known in gone], reason="its section is gone")


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


def _note_proposal(store: MemoryStore, id_: str, mark: Mapping[str, Any], held: Known) -> None:
    """Note at a memory of higher trust that its section's new text was proposed, so that no ingest proposes it again.

    If the user accepts the new text, it takes the place of the memory.
    """
    store.edit(held.id, metadata={**held.metadata, **mark})
    store.edit(id_, metadata={**mark, REPLACES: held.id})


def _consume(changes: Iterator[NewMemory]) -> None:
    for _ in changes:
        pass
