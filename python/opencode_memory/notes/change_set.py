"""Change detection: interprets file events, and compares two scans.

The functions are pure. Events are only hints: they arrive late, twice, in any order or not at all, and many concern
irrelevant paths. Notes with events are read again; other changes are found by comparing two scans.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opencode_memory.notes.tree import is_always_ignored, is_note

_RULES: Final = frozenset({".gitignore", ".git"})


@dataclass(frozen=True, slots=True)
class Changes:
    """Consequences of events.

    Attributes:
        notes: Known notes that were written, replaced or removed.
        needs_scan: Whether notes may have been created or removed, which only a scan can find.
        needs_rewatch: Whether folders were created or removed, so that other folders have to be watched.
    """

    notes: frozenset[str] = frozenset()
    needs_scan: bool = False
    needs_rewatch: bool = False

    def __or__(self, other: Changes) -> Changes:
        return Changes(
            self.notes | other.notes, self.needs_scan or other.needs_scan, self.needs_rewatch or other.needs_rewatch
        )

    def __bool__(self) -> bool:
        return bool(self.notes) or self.needs_scan or self.needs_rewatch


def classify_events(
    paths: Iterable[str], *, notes: Collection[str], folders: Collection[str], is_folder: Callable[[str], bool]
) -> Changes:
    """Classify the paths of events.

    Args:
        paths: Created, changed or removed paths.
        notes: Known notes.
        folders: Scanned folders.
        is_folder: Returns whether a path is a folder now.
    """
    known: set[str] = set()
    needs_scan = needs_rewatch = False
    for path in paths:
        parent, name = os.path.split(path)
        if path in folders:
            needs_rewatch = True
        elif parent not in folders:
            # The path is below an ignored folder, or below a new folder that has its own event.
            continue
        elif path in notes:
            known.add(path)
        elif is_note(name) or name in _RULES:
            needs_scan = True
        elif not is_always_ignored(name) and is_folder(path):
            needs_rewatch = True
    return Changes(frozenset(known), needs_scan, needs_rewatch)


def find_paths_to_read(
    before: Mapping[str, int], after: Mapping[str, int], named: Collection[str], *, root: str
) -> list[str]:
    """Return the smallest set of paths to read so that the memories match the files.

    If all notes of a folder have changed, the folder stands for them, so that no note is read in vain.

    Args:
        before: Notes of an earlier scan, with their stamps.
        after: Notes of a later scan.
        named: Notes with events. They are read even if the stamp is equal, because stamps are as coarse as the file
            system's clock.
        root: The scanned folder.
    """
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    changed.update(path for path in named if path in after)
    if len(changed) <= 1:
        return list(changed)
    number = Counter(folder for path in changed for folder in _iterate_parents(path, root))
    mixed = {folder for path in after.keys() - changed for folder in _iterate_parents(path, root)}
    chosen = set()
    for path in changed:
        best, covered = path, 1
        for folder in _iterate_parents(path, root):
            if folder in mixed:
                break
            if number[folder] > covered:
                best, covered = folder, number[folder]
        chosen.add(best)
    # What is gone is read last, because a renamed and edited note is recognised only if its memories still wait for it.
    there = after.keys() | {folder for path in after for folder in _iterate_parents(path, root)}
    return sorted(chosen, key=lambda path: (path not in there, path))


def _iterate_parents(path: str, root: str) -> Iterator[str]:
    """Yield the folders that contain a note, from the innermost to the root."""
    while path != root:
        path = os.path.dirname(path)  # noqa: PTH120  hundreds of thousands of them
        yield path
