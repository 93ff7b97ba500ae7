"""Synchronizes a folder of files with the store: reads changes back first, then writes the files that differ.

This order protects the texts. A change is in the store before its file is written again, and files are recorded as
written only afterwards. If the process dies in between, the next run finds the same changes, which are made already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, NotFoundError, StorageError
from opencode_memory.memory_file.confined import FolderError
from opencode_memory.memory_file.git_state import NO_REPOSITORY, Head, read_head, unfinished_operation
from opencode_memory.memory_file.origin import ChangedBy
from opencode_memory.memory_file.selection import may_be_shown
from opencode_memory.mirror.apply import ApplyOutcome, Proposals, apply_change, went_with_its_file
from opencode_memory.mirror.compare import Change, Changes, Version, find_changes, is_as_recorded, parse
from opencode_memory.mirror.file_name import name_of
from opencode_memory.mirror.origin import find_others
from opencode_memory.mirror.page import EMPTY
from opencode_memory.mirror.place import Folder, Listing, Place, Sign
from opencode_memory.mirror.record import (
    MISSING,
    NO_BASE,
    NO_FILES,
    Entry,
    Record,
    base_of,
    digest,
    locked,
    read_record,
    write_record,
)
from opencode_memory.mirror.report import Done, FileChange, Kind, MirrorReport
from opencode_memory.mirror.team import read_team
from opencode_memory.models import Memory, Scope, Status, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_NO_ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType({})
_ALL: Final = 1_000_000
_MOST_PROPOSED: Final = 200
BATCH: Final = 500
_SETTLED_SECONDS: Final = 2.0
_NO_LISTING: Final = Listing({}, {})


@dataclass(slots=True)
class _Run:
    """One run: the place, the record that it leaves, and its changes.

    Attributes:
        store: The store of the memories.
        place: The folder.
        head: The position of ``HEAD``.
        changed_by: The author of the changes, if the caller knows.
        environment: Environment of the calling process, for git.
        at: The current time.
        dry_run: Whether nothing is written.
        record: The record of the last run; None if there is none.
        files: The entries of the new record.
        live: The memories that are to have a file, by id.
    """

    store: MemoryStore
    place: Place
    head: Head
    changed_by: ChangedBy | None
    environment: Mapping[str, str]
    at: datetime
    dry_run: bool
    record: Record | None = None
    files: dict[str, Entry] = field(default_factory=dict)
    live: dict[str, Memory] = field(default_factory=dict)
    done: Done = field(default_factory=Done)
    outcome: ApplyOutcome = field(default_factory=ApplyOutcome)
    known: dict[str, str] = field(default_factory=dict)
    """Digests of the changed files that were compared, by name."""
    problem: str | None = None


def sync(
    store: MemoryStore,
    place: Place,
    *,
    at: datetime,
    dry_run: bool = False,
    changed_by: ChangedBy | None = None,
    rewrites: bool = False,
    most_files: int = BATCH,
    environment: Mapping[str, str] = _NO_ENVIRONMENT,
) -> MirrorReport:
    """Apply the changes made in a folder, and write the files whose memories changed.

    Args:
        store: The store of the memories.
        place: The folder.
        at: The current time.
        dry_run: Only report the changes.
        changed_by: The author of the changes, if the caller knows: ``PERSON`` if the user says that they are theirs,
            ``OTHERS`` if not. None to determine it.
        rewrites: Whether to write also the files that are kept as another author left them.
        most_files: Number of files to write at most; the report tells whether more are to be written.
        environment: Environment of the calling process, for git.

    Raises:
        BusyError: Another process synchronizes the folder, or locked the store for too long.
        StorageError: The store cannot be written. Problems of the folder itself are in the report.
    """
    if place.project is None:
        # A number in the file of a global memory is not one of the project in which the command runs.
        store = store.for_project(None)
    left_alone = MirrorReport(path=place.path, project=place.project, dry_run=dry_run)
    if place.repository is not None and (operation := unfinished_operation(place.repository)) is not None:
        return replace(left_alone, problem=f"{operation} is under way; the folder is synchronized after its end")
    head = NO_REPOSITORY if place.repository is None else read_head(place.repository)
    run = _Run(store, place, head, changed_by, environment, at, dry_run)
    with nullcontext() if dry_run else locked(store.data_dir, place):
        is_complete = _synchronize(run, most_files=most_files, rewrites=rewrites)
    done = run.done
    return replace(
        left_alone,
        applied=tuple(done.applied),
        proposed=tuple(done.proposed),
        unclear=tuple(done.unclear),
        written=tuple(done.written),
        removed=tuple(done.removed),
        missing=tuple(name for name, entry in run.files.items() if entry.held == MISSING and entry.id in run.live),
        shown=len(run.live),
        is_complete=is_complete,
        problem=run.problem and f"{place.path} was left alone: {run.problem}",
    )


def _synchronize(run: _Run, *, most_files: int, rewrites: bool) -> bool:
    """Apply the changes, write the files and the record. Return whether no file is left to be written."""
    place, at = run.place, run.at
    before = run.record = read_record(run.store.data_dir, place)
    run.files.update(before.files if before else NO_FILES)
    team: Mapping[str, str] = {} if before is None else before.team
    is_complete = True
    try:
        with place.open(at) as folder:
            listing = _NO_LISTING if folder is None else folder.list()
            if folder is None:
                # With the whole folder, only the files are gone.
                run.files.clear()
                run.record = None if before is None else replace(before, files=NO_FILES)
            run.live = _memories(run)
            _apply_changes(run, folder, listing)
        if run.problem is None and not run.dry_run:
            place.create(at, is_new=run.record is None)
        if run.problem is None:
            with place.open(at) as folder:
                is_complete = _write(run, folder, listing, most_files=most_files, rewrites=rewrites)
            if place.project is not None:
                team = read_team(run.store, place, team, run.done, at=at, dry_run=run.dry_run)
    except (ConflictError, FolderError) as error:
        run.problem = str(error)
    if not run.dry_run and (run.record is not None or run.problem is None):
        # After a problem, changes may be left that came with a move of HEAD. They must still be found.
        kept = run.head if run.record is None or run.problem is None else run.record.head
        new = Record(head=kept, files=run.files, team=team)
        if new != run.record:
            write_record(run.store.data_dir, place, new)
    return is_complete


def _memories(run: _Run) -> dict[str, Memory]:
    """Return the memories that are to have a file, by id."""
    found = run.store.list(scope=Scope.owned_by(run.place.project), limit=_ALL)
    return {memory.id: memory for memory in found if may_be_shown(memory, at=run.at)}


def _apply_changes(run: _Run, folder: Folder | None, listing: Listing) -> None:
    """Read the changed files, and apply or propose the changes."""
    mine = run.changed_by is ChangedBy.PERSON
    _give_to_accepted(run)
    versions = {} if folder is None else _read_changed(run, folder, listing, with_held=mine)
    missing = {
        name: entry
        for name, entry in run.files.items()
        if name not in listing.signs and name not in listing.refused and (mine or entry.held != MISSING)
    }
    found = find_changes(versions, missing, run.files, live=run.live, put_away=_put_away(run))
    for name, reason in sorted(listing.refused.items()):
        run.done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=name, reason=reason))
        run.outcome.unclear.add(name)
    clear = [change for change in found.changes if change.kind is not Kind.UNCLEAR]
    others = _find_others(run, clear, changed_by=run.changed_by)
    # If only the removal of its file had archived a memory, the file restores it, also if git brought the file back.
    others -= {
        change.name
        for change in clear
        if change.kind is Kind.RESTORE and change.id is not None and went_with_its_file(run.store, change.id)
    }
    changes = found.changes
    if mine:
        changes = _add_beside_put_away(run, found.changes)
    added = sum(change.kind is Kind.ADD and change.name in others for change in clear)
    if added > _MOST_PROPOSED:
        run.problem = (
            f"{added:,} new files did not come from you here, more than {_MOST_PROPOSED}; remove most of them, or run "
            "`opencode-memory files sync --mine` if they are yours"
        )
        return
    proposals = Proposals(run.store, run.place.project)
    # The history names the user also if a worker applies the change, so that undo finds it.
    as_user = run.store.acting_as(Trust.USER)
    for change in changes:
        if change.name in others and change.kind is not Kind.UNCLEAR:
            proposals.propose(change, run.done, run.outcome, dry_run=run.dry_run)
        else:
            apply_change(as_user, change, run.place.project, run.live, run.done, run.outcome, dry_run=run.dry_run)
    _record_read(run, found, versions, listing)
    if run.done.applied and not run.dry_run:
        run.live = _memories(run)


def _find_others(run: _Run, changes: Sequence[Change], *, changed_by: ChangedBy | None) -> frozenset[str]:
    """Return the names of the files that another author changed."""
    return find_others(
        changes, run.record, run.place, head=run.head, changed_by=changed_by, environment=run.environment
    )


def _add_beside_put_away(run: _Run, changes: Sequence[Change]) -> list[Change]:
    """Make new memories of files that git brought back and that the user claims, if their memories were put away.

    A memory that was archived or replaced on purpose stays so, also if the user wants its text again.
    """
    restored = [change for change in changes if change.kind is Kind.RESTORE]
    others = _find_others(run, restored, changed_by=None)
    return [
        replace(change, kind=Kind.ADD, id=None)
        if change.kind is Kind.RESTORE
        and change.name in others
        and change.id is not None
        and not went_with_its_file(run.store, change.id)
        else change
        for change in changes
    ]


def _give_to_accepted(run: _Run) -> None:
    """Give the files of other authors to the memories that a review has accepted, and that took the place of theirs."""
    for name, entry in run.files.items():
        if entry.held and entry.waits in run.live and (entry.id == entry.waits or entry.id not in run.live):
            run.files[name] = Entry(id=entry.waits, digest=entry.held, base=NO_BASE, memory="", sign=None)


def _read_changed(run: _Run, folder: Folder, listing: Listing, *, with_held: bool) -> dict[str, Version]:
    """Return the files that are not as recorded.

    Args:
        run: The run.
        folder: The folder.
        listing: Its files.
        with_held: Whether to return also files that stay as another author left them.
    """
    found: dict[str, Version] = {}
    for name, sign in listing.signs.items():
        entry = run.files.get(name)
        is_held = with_held and entry is not None and bool(entry.held)
        if entry is not None and entry.sign == sign and not is_held:
            continue
        try:
            file = folder.read(name)
        except (ConflictError, StorageError) as error:
            found[name] = Version(data=b"", page=None, problem=str(error))
            continue
        if file is None:
            continue
        if entry is not None and is_as_recorded(file.data, entry) and not is_held:
            # A file that was missing is back, so its next removal is a change again.
            held = "" if entry.held == MISSING else entry.held
            run.files[name] = replace(entry, sign=_settle(sign, run.at), held=held)
        else:
            found[name] = parse(file.data)
            run.known[name] = digest(file.data)
    return found


def _settle(sign: Sign, at: datetime) -> Sign | None:
    """Return the sign of a version; None if the file could change again without another sign."""
    return sign if sign[0] < (at.timestamp() - _SETTLED_SECONDS) * 1e9 else None


def _put_away(run: _Run) -> Callable[[str], Memory | None]:
    def find(id_: str) -> Memory | None:
        try:
            memory = run.store.get(id_)
        except NotFoundError:
            return None
        return memory if memory.project == run.place.project else None

    return find


def _record_read(run: _Run, found: Changes, versions: Mapping[str, Version], listing: Listing) -> None:
    """Enter the versions that were read, and drop the files that are gone.

    A version that cannot be interpreted is not entered, so that its next version has the same base.
    """
    outcome = run.outcome
    for name in found.gone:
        run.files.pop(name, None)
    for change in run.done.applied:
        if change.kind is Kind.DELETE:
            run.files.pop(change.name, None)
    names = {entry.id: name for name, entry in run.files.items() if entry.id}
    for name, version in sorted(versions.items()):
        if name in outcome.unclear:
            continue
        owner, base = found.owners.get(name, ("", None))
        before = run.files.get(name) or base
        if name in outcome.held and name not in outcome.owners:
            run.files[name] = _hold(run, before, owner, version, outcome.held[name])
            continue
        id_ = outcome.owners.get(name) or owner or (before.id if before is not None else "")
        if names.get(id_, name) != name:
            reason = f"its memory has the same text in {names[id_]}; change the text, or delete one of the two files"
            run.done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=name, id=id_, reason=reason))
            outcome.unclear.add(name)
            continue
        names[id_] = name
        sign = listing.signs.get(name)
        run.files[name] = Entry(
            id=id_,
            digest=digest(version.data),
            base=NO_BASE if version.page is None else base_of(version.page.fields),
            memory="",
            sign=None if sign is None else _settle(sign, run.at),
        )
    for name in outcome.held:
        if name not in versions and name in run.files:
            run.files[name] = replace(run.files[name], held=MISSING, sign=None)


def _hold(run: _Run, before: Entry | None, owner: str, version: Version, waits: str) -> Entry:
    """Return the entry of a file that stays as another author left it."""
    if before is None:
        memory = run.live.get(owner)
        current = "" if memory is None else digest(EMPTY.with_memory(memory))
        before = Entry(id=owner or waits, digest="", base=NO_BASE, memory=current, sign=None)
    return replace(before, held=digest(version.data), waits=waits, sign=None)


def _write(run: _Run, folder: Folder | None, listing: Listing, *, most_files: int, rewrites: bool) -> bool:
    """Write the files whose memories changed, remove those of memories that are gone; return whether that was all."""
    names = {entry.id: name for name, entry in run.files.items() if entry.id}
    # A dry run applies nothing. After a real one, the file of an applied change is as its memory.
    unchanged = {change.id for change in run.done.applied} if run.dry_run else set()
    taken = {name.lower() for name in (*run.files, *listing.signs, *listing.refused)}
    for memory in run.live.values():
        name = names.get(memory.id)
        entry = None if name is None else run.files[name]
        if name in run.outcome.unclear or memory.id in unchanged:
            continue
        current = digest(EMPTY.with_memory(memory))
        if entry is not None and not _is_due(run, entry, current, rewrites=rewrites):
            continue
        if len(run.done.written) >= most_files:
            return False
        if name is None:
            name = name_of(memory, taken)
            taken.add(name.lower())
        _write_one(run, folder, name, memory, current)
    for name, entry in list(run.files.items()):
        if entry.id and entry.id not in run.live and not entry.held:
            _remove_one(run, folder, name, entry)
    return True


def _is_due(run: _Run, entry: Entry, current: str, *, rewrites: bool) -> bool:
    """Return whether the file of a memory is to be written."""
    if not entry.held:
        return entry.memory != current
    if rewrites or entry.memory != current:
        return True
    if not entry.waits:
        return False
    try:
        return run.store.get(entry.waits).status is not Status.CANDIDATE
    except NotFoundError:
        return True


def _write_one(run: _Run, folder: Folder | None, name: str, memory: Memory, current: str) -> None:
    if run.dry_run:
        run.done.written.append(name)
        return
    if folder is None:
        raise ConflictError("the folder went away while it was being written")
    try:
        before = folder.read(name)
        page = EMPTY
        if before is not None:
            entry = run.files.get(name)
            if not is_as_recorded(before.data, entry) and run.known.get(name) != digest(before.data):
                return  # It was changed after it was compared; the next run takes that up.
            version = parse(before.data)
            page = version.page or EMPTY
        data = page.with_memory(memory)
        if before is None or before.data != data:
            folder.write(name, data, before=before)
            run.done.written.append(name)
    except ConflictError as error:
        run.done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=name, id=memory.id, reason=str(error)))
        return
    written = parse(data)
    base = NO_BASE if written.page is None else base_of(written.page.fields)
    run.files[name] = Entry(id=memory.id, digest=digest(data), base=base, memory=current, sign=None)


def _remove_one(run: _Run, folder: Folder | None, name: str, entry: Entry) -> None:
    """Remove the file of a memory that is put away, unless the file changed meanwhile."""
    if run.dry_run:
        run.done.removed.append(name)
        return
    if folder is None:
        return
    try:
        before = folder.read(name)
        if before is not None:
            if not is_as_recorded(before.data, entry):
                return
            folder.remove(name, before=before)
            run.done.removed.append(name)
    except ConflictError as error:
        run.done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=name, id=entry.id, reason=str(error)))
        return
    run.files.pop(name, None)
