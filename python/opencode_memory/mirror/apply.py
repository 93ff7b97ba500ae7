"""Applies the changes made in a folder to the store, or proposes them for review.

A change by the user gives the memory the user's trust. A change by another author becomes a candidate, which a review
accepts or rejects, and changes no existing memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.review import REPLACES, accept
from opencode_memory.memory_file.apply import bring_back, put_away, texts_put_away
from opencode_memory.memory_file.bullet_text import one_line
from opencode_memory.memory_file.headings import PLAIN
from opencode_memory.mirror.compare import Change, Version
from opencode_memory.mirror.place import RELATIVE
from opencode_memory.mirror.report import Done, FileChange, Kind
from opencode_memory.models import Memory, Scope, Source, Status, Trust

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

TOOL: Final = "memory_files"
_REASON: Final = f"deleted in {RELATIVE}"


@dataclass(slots=True)
class ApplyOutcome:
    """What became of the changes, for the record.

    Attributes:
        owners: The memory of a file, by name.
        held: Files that stay as they are, by name, with the candidate that holds their text; empty if there is none.
        unclear: Files that stay as they are until they change.
    """

    owners: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)


def apply_change(
    store: MemoryStore,
    change: Change,
    project: str | None,
    live: Mapping[str, Memory],
    done: Done,
    outcome: ApplyOutcome,
    *,
    dry_run: bool,
) -> None:
    """Apply a change by the user; a change that the store refuses is reported, and its file is left alone."""
    id_ = change.id
    if change.kind is Kind.UNCLEAR:
        done.unclear.append(FileChange(kind=change.kind, name=change.name, id=id_, reason=change.reason))
        outcome.unclear.add(change.name)
        return
    try:
        if not dry_run:
            if change.kind is Kind.ADD and change.version is not None:
                id_ = _add(store, change, project)
            elif id_ is not None and change.kind is Kind.EDIT:
                _edit(store, id_, change.edits)
            elif id_ is not None and change.kind is Kind.DELETE:
                put_away(store, live[id_], reason=_REASON)
            elif id_ is not None and change.kind is Kind.RESTORE:
                bring_back(store, id_)
    except (InvalidInputError, ConflictError, NotFoundError) as error:
        done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=change.name, id=change.id, reason=str(error)))
        outcome.unclear.add(change.name)
        return
    if id_ is not None and change.version is not None:
        outcome.owners[change.name] = id_
    done.applied.append(FileChange(kind=change.kind, name=change.name, id=id_))


def went_with_its_file(store: MemoryStore, id_: str) -> bool:
    """Return whether the removal of its file archived a memory, and the memory is unchanged since."""
    return store.history(id_)[-1].kind == f"archive: {_REASON}"


class Proposals:
    """Proposes changes of other authors.

    Args:
        store: The store of the memories.
        project: The project of the folder; None for the global memories.
    """

    def __init__(self, store: MemoryStore, project: str | None) -> None:
        self._store = store
        self._project = project
        self._refused: Collection[str] | None = None

    def propose(self, change: Change, done: Done, outcome: ApplyOutcome, *, dry_run: bool) -> None:
        """Propose a change; only a new text is written, as a candidate."""
        outcome.held[change.name] = ""
        version, text = change.version, change.edits.get("content")
        if change.kind is Kind.ADD and version is not None and version.page is not None:
            text = version.page.fields.content
        if change.kind is Kind.RESTORE:
            # An old version names memories that were archived since.
            reason = "its memory was archived or replaced, and stays so"
            done.proposed.append(FileChange(kind=change.kind, name=change.name, id=change.id, reason=reason))
            return
        if isinstance(text, str) and one_line(text) in self._put_away():
            return  # A rejected text is not proposed again.
        id_, reason = change.id, ""
        if isinstance(text, str) and version is not None and not dry_run:
            try:
                id_ = self._remember(text, version, change)
                status = self._store.get(id_).status
            except (InvalidInputError, ConflictError, NotFoundError) as error:
                id_, reason = change.id, str(error)
            else:
                if status is not Status.CANDIDATE:
                    outcome.owners[change.name] = id_
                    return
                outcome.held[change.name] = id_
        elif change.kind is Kind.DELETE:
            reason = "git removed it, or many files are gone at once, so its memory stays"
        elif not isinstance(text, str):
            reason = "it did not come from you here, so it was not applied"
        done.proposed.append(FileChange(kind=change.kind, name=change.name, id=id_, reason=reason))

    def _put_away(self) -> Collection[str]:
        if self._refused is None:
            self._refused = texts_put_away(self._store, self._project)
        return self._refused

    def _remember(self, text: str, version: Version, change: Change) -> str:
        fields = None if version.page is None else version.page.fields
        return self._store.remember(
            text,
            category=(fields.category if fields is not None else None) or PLAIN.category,
            scope=Scope.owned_by(self._project),
            tags=() if fields is None else fields.tags,
            source=Source(tool=TOOL, file=f"{RELATIVE}/{change.name}"),
            trust=Trust.IMPORTED,
            status=Status.CANDIDATE,
            metadata={} if change.id is None else {REPLACES: change.id},
        ).id


def _add(store: MemoryStore, change: Change, project: str | None) -> str:
    page = None if change.version is None else change.version.page
    if page is None:
        raise ConflictError("the file cannot be read")
    id_ = store.remember(
        page.fields.content,
        category=page.fields.category or PLAIN.category,
        scope=Scope.owned_by(project),
        tags=page.fields.tags,
        pinned=page.fields.pinned,
        source=Source(tool=TOOL, file=f"{RELATIVE}/{change.name}"),
        trust=Trust.USER,
        status=Status.ACTIVE,
    ).id
    memory = store.get(id_)
    if memory.status is Status.CANDIDATE:
        # The same text waited for a review.
        accept(store, memory)
        store.edit(id_, trust=Trust.USER)
    return id_


def _edit(store: MemoryStore, id_: str, edits: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in edits.items() if name != "pinned"}
    if fields:
        # A text that the user wrote gets the user's trust, and so does one that the user made a directive.
        if {"content", "category"} & set(fields):
            fields["trust"] = Trust.USER
        store.edit(id_, **fields, verified=True)
    if "pinned" in edits:
        (store.pin if edits["pinned"] else store.unpin)(id_)
