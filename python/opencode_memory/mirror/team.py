"""The folder ``team/``: memories that people share through the repository.

``share`` writes a file, and nothing else does. A file that is new or changed waits for review like a text of any other
author; no memory follows from it, and none is archived when it is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory._core import redact
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError, StorageError
from opencode_memory.memory_file.git_state import NO_REPOSITORY
from opencode_memory.memory_file.selection import may_be_shown
from opencode_memory.mirror.apply import ApplyOutcome, Proposals
from opencode_memory.mirror.compare import Change, Version, parse
from opencode_memory.mirror.file_name import name_of
from opencode_memory.mirror.page import EMPTY, Page, fields_of
from opencode_memory.mirror.place import RELATIVE, TEAM, Folder, Place
from opencode_memory.mirror.record import NO_FILES, Record, digest, locked, read_record, write_record
from opencode_memory.mirror.report import Done, FileChange, Kind
from opencode_memory.models import Memory
from opencode_memory.text.formatting import short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST_PROPOSED: Final = 200
_ID_CHARACTERS: Final = 36


def share(store: MemoryStore, place: Place, id_: str, *, at: datetime) -> Path:
    """Write a memory into the folder of shared memories, and return its file.

    Args:
        store: The store of the memories.
        place: The folder of the project.
        id_: The memory, of the project or global.
        at: The current time.

    Raises:
        InvalidInputError: The memory may not be shared.
        NotFoundError: There is no such memory.
        ConflictError: A part of the path is a link or not a folder.
        BusyError: Another process synchronizes the folder.
        StorageError: The file system refuses.
    """
    memory = store.get(id_)
    _require_shareable(memory, place, at)
    with locked(store.data_dir, place):
        record = read_record(store.data_dir, place)
        place.create(at, is_new=record is None)
        with place.open(at, create=True, team=True) as folder:
            if folder is None:
                raise ConflictError(f"{RELATIVE}/{TEAM} went away while it was being written")
            names = folder.list().signs
            name = _find(folder, names, memory) or name_of(memory, {other.lower() for other in names})
            before = folder.read(name)
            page = EMPTY if before is None else parse(before.data).page or EMPTY
            data = page.with_memory(memory, is_shared=True)
            if kinds := redact(data.decode())[1]:
                raise InvalidInputError(f"{short_id(memory.id)} holds a secret ({', '.join(kinds)})", field="id")
            if before is None or before.data != data:
                folder.write(name, data, before=before)
        record = record or Record(head=NO_REPOSITORY, files=NO_FILES, team={})
        write_record(store.data_dir, place, replace(record, team={**record.team, name: digest(data)}))
    return place.path / TEAM / name


def read_team(
    store: MemoryStore, place: Place, known: Mapping[str, str], done: Done, *, at: datetime, dry_run: bool
) -> Mapping[str, str]:
    """Propose the new and changed shared files, and return the digests of those that were read.

    Args:
        store: The store of the memories.
        place: The folder of the project.
        known: The digests of the files that were read before, by name.
        done: The changes, to which those of this folder are added.
        at: The current time.
        dry_run: Only report the changes.

    Raises:
        ConflictError: A part of the path is a link or not a folder.
        StorageError: The file system refuses.
    """
    found: dict[str, str] = {}
    proposals = Proposals(store, place.project)
    proposed = 0
    with place.open(at, team=True) as folder:
        if folder is None:
            return found
        listing = folder.list()
        refused = dict(listing.refused)
        for name in sorted(listing.signs):
            try:
                file = folder.read(name)
            except (ConflictError, StorageError) as error:
                refused[name] = str(error)
                continue
            if file is None:
                continue
            if digest(file.data) == known.get(name):
                found[name] = known[name]
                continue
            version = parse(file.data)
            if version.page is None or not version.page.fields.content:
                refused[name] = version.problem or "it has no text"
                continue
            change = _change(store, place, name, version, version.page)
            if change is not None:
                if proposed == _MOST_PROPOSED:
                    continue
                proposed += 1
                proposals.propose(change, done, ApplyOutcome(), dry_run=dry_run)
            found[name] = digest(file.data)
    for name, reason in sorted(refused.items()):
        done.unclear.append(FileChange(kind=Kind.UNCLEAR, name=f"{TEAM}/{name}", reason=reason))
    return found


def _change(store: MemoryStore, place: Place, name: str, version: Version, page: Page) -> Change | None:
    """Return what a shared file would change; None if its memory says the same."""
    try:
        memory = store.get(page.id) if len(page.id) == _ID_CHARACTERS else None
    except (NotFoundError, InvalidInputError):
        memory = None
    if memory is None or memory.project not in {place.project, None}:
        return Change(kind=Kind.ADD, name=f"{TEAM}/{name}", version=version)
    if fields_of(memory).content == page.fields.content:
        return None
    edits = {"content": page.fields.content}
    return Change(kind=Kind.EDIT, name=f"{TEAM}/{name}", id=memory.id, version=version, edits=edits)


def _find(folder: Folder, names: Mapping[str, object], memory: Memory) -> str | None:
    """Return the file in which a memory is shared already; None if there is none."""
    for name in sorted(names):
        try:
            file = folder.read(name)
        except (ConflictError, StorageError):
            continue  # Another file is written beside one that cannot be read.
        page = None if file is None else parse(file.data).page
        if page is not None and page.id == memory.id:
            return name
    return None


def _require_shareable(memory: Memory, place: Place, at: datetime) -> None:
    name = short_id(memory.id)
    if place.project is None or memory.project not in {place.project, None}:
        raise InvalidInputError(f"{name} belongs to another project; share it from there", field="id")
    if not may_be_shown(memory, at=at):
        raise InvalidInputError(f"{name} is not active, or waits for a review; accept or restore it first", field="id")
