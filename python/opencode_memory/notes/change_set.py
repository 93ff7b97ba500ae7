"""What changed in a folder of notes: what has to be looked at after some events, and what has to be read after a look.

Pure functions. Events are hints: they come late, twice, in any order, for what nobody wants to know, and some never
come. What they name is read again; what they only suggest is found by comparing two needs_scan.
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
    """What some events mean.

    Attributes:
        notes: Known notes that were written, replaced or removed.
        needs_scan: Whether notes may have come or gone that only a look can find.
        needs_rewatch: Whether folders came or went, so that others have to be watched from now on.
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
    """Say what events mean.

    Args:
        paths: What was made, changed or removed, whichever it was.
        notes: Those that are known.
        folders: Those that were looked into.
        is_folder: Whether there is a folder of that name now.
    """
    known: set[str] = set()
    needs_scan = needs_rewatch = False
    for path in paths:
        parent, name = os.path.split(path)
        if path in folders:
            needs_rewatch = True
        elif parent not in folders:
            # Below something that is ignored; or below something new, of which there is an event too.
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
    """Return the smallest set of paths that brings what was read of a folder in step with what is there.

    A folder stands for the notes in it where all of them changed, so that no note is read in vain.

    Args:
        before: The notes of an earlier look, with their stamps.
        after: The notes of a later look.
        named: Notes that events named; they are read even where the stamp is the same, since a stamp is as coarse as
            the file system's clock.
        root: The folder that was looked at.
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
    return sorted(chosen)


def _iterate_parents(path: str, root: str) -> Iterator[str]:
    """Yield the folders around a note, from the inside out, the root last."""
    while path != root:
        path = os.path.dirname(path)  # noqa: PTH120  hundreds of thousands of them
        yield path
