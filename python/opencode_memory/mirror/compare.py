"""Finds the changes in a folder since it was written or read last.

A pure function of the files, the record and the memories. Each field is compared with its base in the record, so a
change of the user's and one that the memory got meanwhile are both kept. It does not decide whose change it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from opencode_memory.errors import ConflictError
from opencode_memory.mirror.page import Page, fields_of, read_page
from opencode_memory.mirror.record import MISSING, NO_BASE, Entry, base_of, digest
from opencode_memory.mirror.report import Kind
from opencode_memory.models import Memory

_ID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The current version of a file.

    Attributes:
        data: Its bytes.
        page: The parsed file; None if it cannot be read.
        problem: Why it cannot be read; empty if it can.
    """

    data: bytes
    page: Page | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one file.

    Attributes:
        kind: The kind of change.
        name: Name of the file.
        id: The memory; None for a new one.
        version: The current version; None if the file was removed.
        edits: The new values of changed fields, as ``MemoryStore.edit`` takes them, and ``pinned``.
        reason: Why the change is unclear; else empty.
    """

    kind: Kind
    name: str
    id: str | None = None
    version: Version | None = None
    edits: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(slots=True)
class Changes:
    """The result of a comparison.

    Attributes:
        changes: The changes, deletions last.
        owners: The memory of each changed file that has one, by name, with the entry that was its base.
        gone: Names in the record whose files and memories are both gone, or whose files were renamed.
    """

    changes: list[Change] = field(default_factory=list)
    owners: dict[str, tuple[str, Entry | None]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


def parse(data: bytes) -> Version:
    """Parse a version of a file."""
    try:
        return Version(data=data, page=read_page(data))
    except ConflictError as error:
        return Version(data=data, page=None, problem=str(error))


def find_changes(
    changed: Mapping[str, Version],
    missing: Mapping[str, Entry],
    record: Mapping[str, Entry],
    *,
    live: Mapping[str, Memory],
    put_away: Callable[[str], Memory | None],
) -> Changes:
    """Find the changes.

    Args:
        changed: New files, and files that are not as recorded.
        missing: Recorded files that do not exist any more.
        record: All recorded files.
        live: The memories that are to have a file, by id.
        put_away: Returns another memory of the same place by its id; None if there is none.
    """
    found = Changes()
    lost = {entry.id: name for name, entry in missing.items() if entry.id and entry.digest}
    present = {entry.id for name, entry in record.items() if entry.id and name not in missing}
    for name, version in sorted(changed.items()):
        entry = record.get(name)
        if version.page is None:
            found.changes.append(_unclear(name, version, version.problem, entry))
            continue
        id_ = entry.id if entry is not None else ""
        if not id_ and _ID.fullmatch(version.page.id):
            id_ = version.page.id
            if id_ in lost:
                # The user renamed the file.
                entry = record[lost[id_]]
                found.gone.add(lost.pop(id_))
            elif id_ in present:
                found.changes.append(_copy(name, version, live.get(id_)))
                continue
        change = _change(name, version, version.page, id_, entry, live=live, put_away=put_away)
        if id_ in live and (change is None or change.kind is Kind.EDIT):
            found.owners[name] = (id_, entry)
            present.add(id_)
        if change is not None:
            found.changes.append(change)
    for name, entry in missing.items():
        if name in found.gone:
            continue
        if entry.id in live and entry.digest:
            found.changes.append(Change(kind=Kind.DELETE, name=name, id=entry.id))
        elif entry.held != MISSING:
            found.gone.add(name)
    return found


def _change(
    name: str,
    version: Version,
    page: Page,
    id_: str,
    entry: Entry | None,
    *,
    live: Mapping[str, Memory],
    put_away: Callable[[str], Memory | None],
) -> Change | None:
    """Return the change of one file; None if only its formatting changed, or nothing."""
    if not page.fields.content:
        reason = "it has no text; delete the file to archive its memory"
        return _unclear(name, version, reason, entry)
    memory = live.get(id_)
    if memory is None:
        other = put_away(id_) if id_ else None
        same = other is not None and fields_of(other).content == page.fields.content
        if same and entry is None:
            return Change(kind=Kind.RESTORE, name=name, id=id_, version=version)
        is_agreed = entry is not None and not entry.held
        if other is not None and is_agreed and (same or (entry and entry.base[0] == base_of(page.fields)[0])):
            return None  # The memory was put away; another field of its file does not bring it back.
        return Change(kind=Kind.ADD, name=name, version=version)
    edits = _edits(page, memory, entry)
    return Change(kind=Kind.EDIT, name=name, id=id_, version=version, edits=edits) if edits else None


def _edits(page: Page, memory: Memory, entry: Entry | None) -> Mapping[str, Any]:
    """Return the fields that differ from their base and from the memory."""
    now, current, mine = base_of(page.fields), base_of(fields_of(memory)), page.fields
    base = NO_BASE if entry is None else entry.base
    values: tuple[tuple[str, Any], ...] = (
        ("content", mine.content),
        # Without a category in its head, a file keeps the one of its memory.
        ("category", mine.category or memory.category.value),
        ("tags", list(mine.tags)),
        ("pinned", mine.pinned),
    )
    found = {}
    for at, (name, value) in enumerate(values):
        is_given = name != "category" or mine.category is not None
        if now[at] != base[at] and now[at] != current[at] and is_given:
            found[name] = value
    return found


def _copy(name: str, version: Version, memory: Memory | None) -> Change:
    same = memory is not None and version.page is not None and version.page.fields.content == fields_of(memory).content
    if same:
        reason = "it is a copy of another file; change its text for a new memory, or delete it"
        return _unclear(name, version, reason, None)
    return Change(kind=Kind.ADD, name=name, version=version)


def _unclear(name: str, version: Version, reason: str, entry: Entry | None) -> Change:
    id_ = entry.id if entry is not None and entry.id else None
    return Change(kind=Kind.UNCLEAR, name=name, id=id_, version=version, reason=reason)


def is_as_recorded(data: bytes, entry: Entry | None) -> bool:
    """Return whether a file has its last known version."""
    return entry is not None and digest(data) in {entry.digest, entry.held}
