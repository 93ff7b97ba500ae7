"""Removes the files of purged memories at once: in the folders of the mirror, and in those that are shared with a team.

Only folders that this store has written or read are reached. A file is removed if it holds the purged text; a file of
the same memory with another text is named instead, because another author wrote that text.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import BusyError, ConflictError, CorruptStoreError, StorageError
from opencode_memory.memory_file.confined import Found
from opencode_memory.memory_file.git_state import read_blobs
from opencode_memory.mirror.compare import parse
from opencode_memory.mirror.page import fields_of
from opencode_memory.mirror.place import TEAM, Place
from opencode_memory.mirror.record import NO_FILES, Entry, locked, read_record, recorded_places, write_record
from opencode_memory.projects.identity import Repository

if TYPE_CHECKING:
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

_WAIT_SECONDS: Final = 5.0
_STEP_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class PurgedFiles:
    """What became of the files of purged memories.

    Attributes:
        removed: The removed files.
        problems: What still holds a text, or may hold it, each as a sentence without its period.
    """

    removed: tuple[Path, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Purged:
    """A memory that is to be purged, with all texts that it ever had.

    Attributes:
        project: Its project; None if it was always global.
        texts: Its texts, as files have them.
    """

    project: str | None
    texts: frozenset[str]


@dataclass(slots=True)
class _Run:
    """The memories by id, and what was done."""

    memories: Mapping[str, Purged]
    at: datetime
    removed: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_texts(store: MemoryStore, ids: Sequence[str]) -> dict[str, Purged]:
    """Return the memories that are to be purged, by their full ids; a deleted memory is known from its history.

    Raises:
        NotFoundError: There is no memory with one of the ids.
        ConflictError: Several memories have one of the ids.
    """
    found: dict[str, Purged] = {}
    for id_ in ids:
        if versions := _read_versions(store, id_):
            project = next((version.project for version in reversed(versions) if version.project is not None), None)
            found[versions[-1].id] = Purged(project, frozenset(fields_of(version).content for version in versions))
    return found


def _read_versions(store: MemoryStore, id_: str) -> list[Memory]:
    """Return all versions of a memory, the current one last."""
    try:
        history = store.history(id_)
    except CorruptStoreError:
        # A damaged history must not prevent a purge. Files with an earlier text are then named, not removed.
        return [store.get(id_)]
    return [version for entry in history for version in (entry.before, entry.after) if version is not None]


def remove_purged(
    store: MemoryStore, memories: Mapping[str, Purged], *, at: datetime, environment: Mapping[str, str]
) -> PurgedFiles:
    """Remove the files of memories, before these are purged.

    In the other order, a process that is killed between the two would leave files of memories that no command knows.

    Args:
        store: The store of the memories.
        memories: The memories, from ``find_texts``.
        at: The current time.
        environment: Environment of the calling process, for git.
    """
    run = _Run(memories, at)
    for place in recorded_places(store.data_dir):
        try:
            with _locked(store.data_dir, place):
                _clean(store, place, run, environment)
        except (BusyError, ConflictError, StorageError) as error:
            run.problems.append(f"{place.path} could not be searched for the text: {error}")
    return PurgedFiles(tuple(run.removed), tuple(run.problems))


@contextmanager
def _locked(data_dir: Path, place: Place) -> Iterator[None]:
    """Lock a place. A purge cannot be repeated, so wait for a process that synchronizes the folder."""
    end = time.monotonic() + _WAIT_SECONDS
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(data_dir, place))
                break
            except BusyError:
                if time.monotonic() >= end:
                    raise
                time.sleep(_STEP_SECONDS)
        yield


def _clean(store: MemoryStore, place: Place, run: _Run, environment: Mapping[str, str]) -> None:
    record = read_record(store.data_dir, place)
    entries = NO_FILES if record is None else record.files
    own = _remove(place, run, environment, entries, team=False)
    shared = _remove(place, run, environment, NO_FILES, team=True)
    if record is not None and (own or shared):
        files = {name: entry for name, entry in record.files.items() if name not in own}
        team = {name: found for name, found in record.team.items() if name not in shared}
        write_record(store.data_dir, place, replace(record, files=files, team=team))


def _remove(
    place: Place, run: _Run, environment: Mapping[str, str], entries: Mapping[str, Entry], *, team: bool
) -> set[str]:
    """Remove the files of one folder, and return their names."""
    removed: set[str] = set()
    above = place.path / TEAM if team else place.path
    # Another author's file has another id, and the same text if its memory was accepted.
    same_place = {
        text for memory in run.memories.values() if memory.project in {place.project, None} for text in memory.texts
    }
    with place.open(run.at, team=team) as folder:
        if folder is None:
            return removed
        for name in sorted(folder.list().signs):
            try:
                file = folder.read(name)
                if file is None or not _is_purged(
                    run, above / name, file, entries.get(name), same_place if team else ()
                ):
                    continue
                folder.remove(name, before=file)
            except (ConflictError, StorageError) as error:
                run.problems.append(f"{above / name} may hold the text: {error}")
            else:
                removed.add(name)
    run.removed += [above / name for name in sorted(removed)]
    if place.repository is not None:
        _name_commits(place, place.repository, removed, run, environment, team=team)
    return removed


def _is_purged(run: _Run, path: Path, file: Found, entry: Entry | None, same_place: Collection[str]) -> bool:
    """Return whether a file is to be removed; report one of the same memory with an unknown text."""
    page = parse(file.data).page
    recorded = () if entry is None else (entry.id, entry.waits)
    named = (page.id,) if page is not None else tuple(id_ for id_ in run.memories if id_.encode() in file.data)
    owners = [run.memories[id_] for id_ in (*named, *recorded) if id_ in run.memories]
    text = None if page is None else page.fields.content
    if text in same_place or any(text in owner.texts for owner in owners):
        return True
    if owners:
        run.problems.append(f"{path} belongs to it and has another text; delete the file yourself")
    return False


def _name_commits(
    place: Place,
    repository: Repository,
    removed: Iterable[str],
    run: _Run,
    environment: Mapping[str, str],
    *,
    team: bool,
) -> None:
    """Report the files that git has."""
    above = f"{TEAM}/" if team else ""
    for name in sorted(removed):
        path = place.name_in_git(above + name)
        found = None if path is None else read_blobs(repository, (f"HEAD:{path}", f":{path}"), environment=environment)
        if path is not None and (found is None or any(data is not None for data in found)):
            run.problems.append(
                f"git may still have {path}: commit its removal; earlier commits and other clones keep the text until "
                "you rewrite the history"
            )
