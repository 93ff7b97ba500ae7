"""Determines the author of changes in a folder: the user, or another author through git or a copy of the folder.

The rule is the one for MEMORY.md. Git keeps what it wrote in ``HEAD`` and in its index, so a text that is also there
may have come with a checkout, a merge, a pull or a clone. If most of a folder changes at once, it is probably another
version of the folder. If the author cannot be determined, the change counts as another author's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opencode_memory.memory_file.diff import is_mass
from opencode_memory.memory_file.git_state import Head, read_blobs
from opencode_memory.memory_file.origin import ChangedBy
from opencode_memory.mirror.compare import Change
from opencode_memory.mirror.place import Place
from opencode_memory.mirror.record import Record
from opencode_memory.mirror.report import Kind

_MANY: Final = 20
"""Changed or new files at once that may be another version of the folder."""
_MOST_ASKED: Final = 500
_FEWEST_OF_ALL: Final = 2
"""Deleted files of a folder without any other file that may be an accident; one file is deleted on purpose."""


def find_others(
    changes: Sequence[Change],
    record: Record | None,
    place: Place,
    *,
    head: Head,
    changed_by: ChangedBy | None,
    environment: Mapping[str, str],
) -> frozenset[str]:
    """Return the names of the files that another author changed.

    Args:
        changes: The changes.
        record: The last versions; None if there are none.
        place: The folder.
        head: The current position of ``HEAD``.
        changed_by: The author, if the caller knows.
        environment: Environment of the calling process, for git.
    """
    names = frozenset(change.name for change in changes)
    if changed_by is not None:
        return frozenset() if changed_by is ChangedBy.PERSON else names
    if record is None:
        return names
    others = {change.name for kinds in _KINDS for change in _mass(changes, kinds, len(record.files))}
    return frozenset(others | _from_git(changes, record, place, head, environment))


_KINDS: Final = (frozenset({Kind.DELETE}), frozenset({Kind.EDIT, Kind.RESTORE}), frozenset({Kind.ADD}))


def _mass(changes: Sequence[Change], kinds: frozenset[Kind], files: int) -> list[Change]:
    """Return the changes of these kinds if there are too many to be intended."""
    found = [change for change in changes if change.kind in kinds]
    if Kind.DELETE in kinds:
        # A folder is emptied by a clean-up or a checkout, or seems empty while its disk is not mounted.
        is_emptied = len(found) >= _FEWEST_OF_ALL and len(found) == len(changes) == files
        return found if is_emptied or is_mass(len(found), files) else []
    return found if len(found) >= _MANY and (Kind.ADD in kinds or 2 * len(found) > files) else []


def _from_git(
    changes: Sequence[Change], record: Record, place: Place, head: Head, environment: Mapping[str, str]
) -> set[str]:
    """Return the names of the files whose version git has, or whose removal it may have made."""
    if place.repository is None or not changes:
        return set()
    moved = head.commit is None or record.head.commit != head.commit
    names = [change.name for change in changes]
    if len(names) > _MOST_ASKED:
        return set(names) if moved else set()
    asked: list[str] = []
    for name in names:
        path = place.name_in_git(name)
        if path is None:
            return set(names) if moved else set()
        asked += [f"HEAD:{path}", f":{path}", f"{record.head.commit or 'HEAD'}:{path}"]
    found = read_blobs(place.repository, asked, environment=environment)
    if found is None:
        return set(names) if moved else set()
    others = set()
    for at, change in enumerate(changes):
        committed, staged, earlier = found[3 * at : 3 * at + 3]
        if change.version is None:
            # A checkout removes only files that git had.
            is_other = moved and earlier is not None and committed is None
        else:
            is_other = change.version.data in {committed, staged}
        if is_other:
            others.add(change.name)
    return others
