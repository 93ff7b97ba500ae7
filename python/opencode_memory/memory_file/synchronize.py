"""Synchronizes the file of a work tree with the store: reads changes back first, then writes the file if it differs.

This order protects the texts. A change is in the store before the file is written again, and the file is recorded as
written only afterwards. If the process dies in between, the next run finds the same changes, which are made already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opencode_memory.context.folding import before_of
from opencode_memory.context.later_words import find_said_later
from opencode_memory.errors import ConflictError, InvalidInputError, StorageError
from opencode_memory.memory_file import disk
from opencode_memory.memory_file.apply import Done, apply_changes, memories_of, propose
from opencode_memory.memory_file.confined import Found
from opencode_memory.memory_file.diff import Kind, diff_part
from opencode_memory.memory_file.disk import RELATIVE
from opencode_memory.memory_file.frame import NEW, Frame, fingerprint, read_frame
from opencode_memory.memory_file.git_state import NO_REPOSITORY, Head, read_head, unfinished_operation, versions
from opencode_memory.memory_file.last_written import LastWritten, read_last, record_last
from opencode_memory.memory_file.mentioned import known_memories
from opencode_memory.memory_file.origin import ChangedBy, Origin, find_origin
from opencode_memory.memory_file.report import MemoryFileReport, Mode, Outcome
from opencode_memory.memory_file.selection import FEWEST_LINES, Body, body_of, memories_to_show
from opencode_memory.models import Category
from opencode_memory.projects.identity import Repository, find_repository, real
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_NO_ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType({})
_MOST_PROPOSED: Final = 200
_MOST_SHOWN: Final = 5_000
"""Lines of a managed part, whatever is allowed: what is written must be small enough to be read again."""

_MOST_COMPARED: Final = 1_000
"""Memories of which the file names the statement that they replaced."""
_MOST_READ: Final = 4 * _MOST_SHOWN


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a file, and the state around it.

    Attributes:
        store: The store of the memories.
        project: Their project.
        work_tree: The folder that the file belongs to.
        repository: The repository of that folder; None outside git.
        head: The position of ``HEAD``.
        last: The last writing; None if there was none.
        with_global: Whether the file shows global memories too.
        at: The current time.
    """

    store: MemoryStore
    project: str
    work_tree: Path
    repository: Repository | None
    head: Head
    last: LastWritten | None
    with_global: bool
    at: datetime

    def report(self, outcome: Outcome, problem: str | None = None) -> MemoryFileReport:
        """Report an outcome."""
        return MemoryFileReport(path=self.work_tree / RELATIVE, outcome=outcome, problem=problem)

    def leave_alone(self, problem: object) -> MemoryFileReport:
        """Report that the file was left alone."""
        return self.report(Outcome.LEFT_ALONE, str(problem))

    def body(self, max_lines: int, done: Done) -> Body:
        """Render the managed part."""
        memories = list(
            memories_to_show(self.store, project=self.project, with_global=self.with_global, most=max_lines, at=self.at)
        )
        earlier = self.store.earlier([memory.id for memory in memories[:_MOST_COMPARED]])
        before = {id_: found[0].content for id_ in earlier if (found := before_of(id_, earlier))}
        # An event that is quoted behind a statement would be cryptic below a heading of its own.
        statements = [memory for memory in memories if memory.category is not Category.EVENT]
        later = find_said_later(self.store, statements, self.project)
        quoted = {one.id for one in later.values() if one.category is Category.EVENT}
        return body_of(
            (memory for memory in memories if memory.id not in quoted),
            max_lines=max_lines,
            kept=done.kept,
            before=before,
            later={id_: one.content for id_, one in later.items()},
        )

    def versions(self, environment: Mapping[str, str]) -> Sequence[bytes] | None:
        """Return the versions of the file that git has; None if git cannot tell."""
        if self.repository is None:
            return ()
        path = real(self.work_tree) / RELATIVE
        if not path.is_relative_to(self.repository.work_tree):
            return None
        name = path.relative_to(self.repository.work_tree).as_posix()
        return versions(self.repository, name, environment=environment)


def sync(
    store: MemoryStore,
    *,
    project: str,
    work_tree: Path,
    mode: str,
    max_lines: int,
    at: datetime,
    create: bool = False,
    dry_run: bool = False,
    with_global: bool = False,
    changed_by: ChangedBy | None = None,
    environment: Mapping[str, str] = _NO_ENVIRONMENT,
) -> MemoryFileReport:
    """Apply the changes made in a project's file, and write the file if its content changes.

    Args:
        store: The store of the memories.
        project: The project.
        work_tree: The folder that the file belongs to, as ``.opencode/MEMORY.md``.
        mode: ``auto`` creates a missing file, ``ask`` only updates an existing file, ``off`` does nothing.
        max_lines: Maximum number of lines of the managed part; 0 turns the file off.
        at: The current time.
        create: The user agreed: create the file, or add the managed part to a file that has none.
        dry_run: Only report the changes.
        with_global: Whether to show global memories too.
        changed_by: The author of the changes, if the caller knows: ``OTHERS`` if a tool of an agent wrote the file,
            ``PERSON`` if the user says that the changes are theirs. None to determine it.
        environment: Environment of the calling process, for git.

    Raises:
        InvalidInputError: The mode or the number of lines is invalid.
        BusyError: Another process locked the store for too long.
        StorageError: The store cannot be written. Problems of the file itself are in the report.
    """
    wanted = _validate(mode, max_lines)
    repository = find_repository(work_tree)
    head = NO_REPOSITORY if repository is None else read_head(repository)
    last = read_last(store, project, work_tree)
    place = _Place(store, project, work_tree, repository, head, last, with_global, at)
    if wanted is Mode.OFF or max_lines == 0:
        return place.report(Outcome.OFF)
    if max_lines < FEWEST_LINES:
        return place.leave_alone(f"{max_lines} lines leave no room for a memory; allow at least {FEWEST_LINES}, or 0")
    if repository is not None and (operation := unfinished_operation(repository)) is not None:
        return place.leave_alone(f"{operation} is under way; the file is synchronized after its end")
    try:
        found = disk.read(work_tree)
        frame = NEW if found is None else read_frame(found.data)
    except (ConflictError, StorageError) as error:
        return place.leave_alone(error)
    if frame.body is None and not create:
        if found is not None and last is not None:
            return place.leave_alone(
                "its managed part was removed; `opencode-memory memory-file --create` adds it again"
            )
        if wanted is Mode.ASK:
            return place.report(Outcome.CONSENT_NEEDED)
    applied = _apply(place, frame, changed_by=changed_by, environment=environment, dry_run=dry_run)
    if isinstance(applied, str):
        return place.leave_alone(applied)
    body = place.body(min(max_lines, _MOST_SHOWN), applied.done)
    if found is None and not body.shown and not create:
        return place.report(Outcome.UNCHANGED)
    return _write(place, frame, found, body, applied, dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class _Applied:
    """The changes of a file that were applied or proposed.

    Attributes:
        done: The changes.
        foreign: Lines of the managed part that are no bullets; they move out of it.
    """

    done: Done
    foreign: Sequence[str]

    def report_at(self, place: _Place, body: Body) -> MemoryFileReport:
        """Report the changes, without a written file."""
        done = self.done
        return replace(
            place.report(Outcome.UNCHANGED),
            added=tuple(done.added),
            edited=tuple(done.edited),
            archived=tuple(done.archived),
            restored=tuple(done.restored),
            proposed=tuple(done.proposed),
            unclear=tuple(done.unclear),
            shown=len(body.shown),
            moved_out=len(self.foreign),
        )


def _apply(
    place: _Place,
    frame: Frame,
    *,
    changed_by: ChangedBy | None,
    environment: Mapping[str, str],
    dry_run: bool,
) -> _Applied | str:
    """Apply the user's changes, and propose those of other authors. Return why if none may be made."""
    done = Done()
    if frame.body is None:
        return _Applied(done, ())
    if len(frame.body) > _MOST_READ:
        return f"its managed part has {len(frame.body):,} lines, more than {_MOST_READ:,}; remove most of them"
    store, project = place.store, place.project
    memories = known_memories(
        store, frame.body, place.last, project=project, with_global=place.with_global, at=place.at
    )
    changes = diff_part(frame.body, memories)
    origin = find_origin(
        changes,
        frame,
        last=place.last,
        head=place.head,
        versions=lambda: place.versions(environment),
        changed_by=changed_by,
    )
    if (objection := _find_objection(origin)) is not None:
        return objection
    done = apply_changes(store, origin.own, memories_of(memories.values()), project=project, dry_run=dry_run)
    propose(store, origin.others, done, project=project, dry_run=dry_run)
    return _Applied(done, changes.foreign)


def _write(
    place: _Place, frame: Frame, found: Found | None, body: Body, applied: _Applied, *, dry_run: bool
) -> MemoryFileReport:
    """Write the file if its content changes, and record the written version."""
    report = applied.report_at(place, body)
    data = frame.with_body(body.lines, applied.foreign)
    is_same = found is not None and found.data == data
    if dry_run:
        return report if is_same and applied.done.is_nothing else replace(report, outcome=Outcome.WOULD_WRITE)
    if not is_same:
        try:
            disk.write(place.work_tree, data, before=found, at=place.at)
        except (ConflictError, StorageError) as error:
            return replace(report, outcome=Outcome.LEFT_ALONE, moved_out=0, problem=str(error))
        report = replace(report, outcome=Outcome.WRITTEN)
    last = LastWritten(fingerprint=fingerprint(body.lines), head=place.head, shown=body.shown)
    record_last(place.store, place.project, place.work_tree, last)
    return report


def _find_objection(origin: Origin) -> str | None:
    """Return why changes of other authors cannot be ignored for now; None if they can."""
    if origin.is_unsaved:
        return (
            "it is unknown who changed it; run `opencode-memory memory-file --mine` if the changes are yours, or take "
            "them back"
        )
    additions = sum(change.kind is Kind.ADD for change in origin.others)
    if additions > _MOST_PROPOSED:
        return (
            f"{additions:,} new bullets came from elsewhere, more than {_MOST_PROPOSED}; remove some, or run "
            "`opencode-memory memory-file --mine` if they are yours"
        )
    return None


def _validate(mode: str, max_lines: int) -> Mode:
    if isinstance(max_lines, bool) or not isinstance(max_lines, int) or max_lines < 0:
        raise InvalidInputError(
            f"max_lines: {max_lines!r} is not a whole number of lines, 0 or more", field="max_lines", limit="0 or more"
        )
    if mode not in tuple(Mode):
        modes = tuple(Mode)
        raise InvalidInputError(
            f"mode: {mode!r} is none of {', '.join(modes)}; {did_you_mean(str(mode), modes)}", field="mode"
        )
    return Mode(mode)
