"""Applies the changes made in a file to the store.

A change by the user gives the memory the user's trust, whatever its trust was before. A change that came with git
becomes a candidate for review and changes no existing memory. A file of a project never changes a global memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.rejections import rejecting, withdraw_rejection
from opencode_memory.learning.review import REPLACES
from opencode_memory.memory_file.bullet_text import one_line
from opencode_memory.memory_file.diff import Change, Kind, Known
from opencode_memory.memory_file.disk import RELATIVE
from opencode_memory.memory_file.headings import PLAIN, heading_of
from opencode_memory.memory_file.report import BulletChange, to_bullet_change
from opencode_memory.memory_file.selection import KeptBullet
from opencode_memory.models import Memory, ScopeKind, Source, Status, Trust
from opencode_memory.text.formatting import short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REASON: Final = f"deleted in {RELATIVE}"
_SOURCE: Final = Source(tool="memory_file", file=RELATIVE)
_MOST_LOOKED_AT: Final = 5000


@dataclass(slots=True)
class Done:
    """The applied changes, and those that were not applied."""

    added: list[BulletChange] = field(default_factory=list)
    edited: list[BulletChange] = field(default_factory=list)
    archived: list[BulletChange] = field(default_factory=list)
    restored: list[BulletChange] = field(default_factory=list)
    proposed: list[BulletChange] = field(default_factory=list)
    unclear: list[BulletChange] = field(default_factory=list)
    kept: list[KeptBullet] = field(default_factory=list)

    @property
    def is_nothing(self) -> bool:
        """Whether there were no changes."""
        return not (self.added or self.edited or self.archived or self.restored or self.proposed)


def apply_changes(
    store: MemoryStore,
    changes: Iterable[Change],
    known: Mapping[str, Memory],
    *,
    project: str,
    dry_run: bool,
) -> Done:
    """Apply the user's changes.

    Args:
        store: The store of the memories.
        changes: The changes.
        known: The changed memories, by id.
        project: The project of the file.
        dry_run: Only report the changes.

    Raises:
        BusyError: Another process locked the store for too long.
        StorageError: The disk is full or failed.
    """
    done = Done()
    # The history names the user also if a worker applies the change, so that undo finds it.
    store = store.acting_as(Trust.USER)
    steps: dict[Kind, Callable[[Change], None]] = {
        Kind.ADD: lambda change: _add(store, change, done, project=project, dry_run=dry_run),
        Kind.EDIT: lambda change: _edit(store, change, known, done, dry_run=dry_run),
        Kind.DELETE: lambda change: _archive(store, change, known, done, dry_run=dry_run),
        Kind.RESTORE: lambda change: _restore(store, change, done, dry_run=dry_run),
        Kind.UNCLEAR: lambda change: _keep(change, change.reason, known, done),
    }
    for change in changes:
        try:
            steps[change.kind](change)
        except (InvalidInputError, ConflictError, NotFoundError) as error:
            _keep(change, str(error), known, done)
    return done


def propose(store: MemoryStore, changes: Iterable[Change], done: Done, *, project: str, dry_run: bool) -> None:
    """Propose changes for review: new memories and new texts are written as candidates, deletions are only reported.

    Args:
        store: The store of the memories.
        changes: The changes.
        done: The record to add them to.
        project: The project of the file.
        dry_run: Only report the changes.
    """
    refused: Collection[str] | None = None
    for change in changes:
        if change.kind not in {Kind.ADD, Kind.EDIT} or change.content is None:
            done.proposed.append(to_bullet_change(change, reason="it is not applied; archive the memory yourself"))
            continue
        refused = texts_put_away(store, project) if refused is None else refused
        # Do not propose a memory again after the user rejected it; otherwise every checkout would.
        if one_line(change.content) in refused:
            continue
        if dry_run:
            done.proposed.append(to_bullet_change(change))
            continue
        try:
            stored = _propose(store, change, project=project)
        except (InvalidInputError, ConflictError, NotFoundError) as error:
            done.proposed.append(to_bullet_change(change, reason=str(error)))
            continue
        if store.get(stored).status is Status.CANDIDATE:
            done.proposed.append(to_bullet_change(change, id=stored))


def _propose(store: MemoryStore, change: Change, *, project: str) -> str:
    """Store the text of a change as a candidate, which takes the place of an edited memory if the user accepts it."""
    if change.kind is Kind.ADD or change.id is None:
        return _remember(store, change, project=project, trust=Trust.IMPORTED, status=Status.CANDIDATE)
    edited = store.get(change.id)
    if edited.scope is ScopeKind.GLOBAL:
        raise ConflictError(f"memory {short_id(edited.id)} is global, which the file of one project does not change")
    change = replace(change, category=change.category or edited.category)
    about = {REPLACES: edited.id}
    return _remember(store, change, project=project, trust=Trust.IMPORTED, status=Status.CANDIDATE, metadata=about)


def _add(store: MemoryStore, change: Change, done: Done, *, project: str, dry_run: bool) -> None:
    if dry_run:
        done.added.append(to_bullet_change(change))
        return
    stored = _remember(store, change, project=project, trust=Trust.USER, status=Status.ACTIVE)
    done.added.append(to_bullet_change(change, id=stored))


def _remember(
    store: MemoryStore,
    change: Change,
    *,
    project: str,
    trust: Trust,
    status: Status,
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> str:
    return store.remember(
        change.content or "",
        category=change.category or PLAIN.category,
        project=project,
        source=_SOURCE,
        trust=trust,
        status=status,
        metadata=dict(metadata),
    ).id


def _edit(store: MemoryStore, change: Change, known: Mapping[str, Memory], done: Done, *, dry_run: bool) -> None:
    whose = change.id or ""
    if known[whose].scope is ScopeKind.GLOBAL:
        raise ConflictError(f"memory {short_id(whose)} is global, which the file of one project does not change")
    if not dry_run:
        category = None if change.category is None else change.category.value
        # A text that the user wrote gets the user's trust, and so does one that the user moved to the directives.
        store.edit(whose, content=change.content, category=category, trust=Trust.USER, verified=True)
    done.edited.append(to_bullet_change(change))


def _archive(store: MemoryStore, change: Change, known: Mapping[str, Memory], done: Done, *, dry_run: bool) -> None:
    whose = change.id or ""
    if known[whose].scope is ScopeKind.GLOBAL:
        done.proposed.append(
            to_bullet_change(change, reason="it is global, which the file of one project does not change")
        )
        return
    if not dry_run:
        put_away(store, known[whose], reason=REASON)
    done.archived.append(to_bullet_change(change))


def _restore(store: MemoryStore, change: Change, done: Done, *, dry_run: bool) -> None:
    whose = change.id or ""
    if not dry_run:
        bring_back(store, whose)
    done.restored.append(to_bullet_change(change))


def _keep(change: Change, reason: str, known: Mapping[str, Memory], done: Done) -> None:
    """Keep a bullet as it is."""
    done.unclear.append(to_bullet_change(change, reason=reason))
    if change.bullet is None:
        return
    memory = known.get(change.id or "")
    heading = change.bullet.heading or (None if memory is None else heading_of(memory)) or PLAIN
    done.kept.append(KeptBullet(heading, change.bullet.lines, change.id))


def put_away(store: MemoryStore, memory: Memory, *, reason: str) -> None:
    """Archive a memory that the user deleted in a file, and never learn the same statement again."""
    with rejecting(store, [memory.id]):
        store.archive(memory.id, reason=reason)


def bring_back(store: MemoryStore, id_: str) -> None:
    """Restore a memory that the user put back into a file, also an expired one."""
    if store.get(id_).status is Status.ACTIVE:
        store.edit(id_, expires_at=None, verified=True)
    else:
        withdraw_rejection(store, *store.restore(id_))


def texts_put_away(store: MemoryStore, project: str | None) -> Collection[str]:
    """Return the texts of archived memories of a project, or of the global ones, each on one line."""
    scope = ScopeKind.GLOBAL if project is None else ScopeKind.PROJECT
    away = store.list(project=project, scope=scope, status=Status.ARCHIVED, limit=_MOST_LOOKED_AT)
    return frozenset(one_line(memory.content) for memory in away)


def memories_of(known: Iterable[Known]) -> dict[str, Memory]:
    """Return the known memories, by id."""
    return {one.id: one.memory for one in known if one.memory is not None}
