"""The record of the last writing: which version of the managed part is in which work tree.

It separates a user's edit from another version of the file. It is one key-value pair of the project for each work tree,
and never expires. If it is missing or invalid, no change counts as an edit by the user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.memory_file.git_state import Head
from opencode_memory.projects.identity import real
from opencode_memory.store import reserved_keys
from opencode_memory.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

PREFIX: Final = reserved_keys.MEMORY_FILE
_KEY_CHARACTERS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWritten:
    """The last writing.

    Attributes:
        fingerprint: The version of the managed part.
        head: The position of ``HEAD``.
        shown: Ids of the memories in it.
    """

    fingerprint: str
    head: Head
    shown: tuple[str, ...]


def key_of(work_tree: Path) -> str:
    """Return the key for a work tree. It is a hash, because a path may be too long or look like a secret."""
    return PREFIX + hashlib.sha256(str(real(work_tree)).encode(errors="surrogateescape")).hexdigest()[:_KEY_CHARACTERS]


def read_last(store: MemoryStore, project: str, work_tree: Path) -> LastWritten | None:
    """Return the last writing in a work tree; None if there was none, or if it is unreadable."""
    value = store.kv.get(key_of(work_tree), project=project)
    if not isinstance(value, dict):
        return None
    fingerprint, shown = value.get("fingerprint"), value.get("shown")
    branch, commit = value.get("branch"), value.get("commit")
    if not isinstance(fingerprint, str) or not isinstance(shown, list):
        return None
    if not all(isinstance(one, str) for one in shown) or not _is_text(branch) or not _is_text(commit):
        return None
    return LastWritten(fingerprint=fingerprint, head=Head(branch, commit), shown=tuple(shown))


def record_last(store: MemoryStore, project: str, work_tree: Path, last: LastWritten) -> None:
    """Record a writing; recording the same again writes nothing."""
    if read_last(store, project, work_tree) == last:
        return
    value = {
        "work_tree": replace_surrogates(real(work_tree).as_posix()),
        "fingerprint": last.fingerprint,
        "branch": last.head.branch,
        "commit": last.head.commit,
        "shown": list(last.shown),
    }
    store.kv.set(key_of(work_tree), value, ttl_seconds=None, project=project)


def list_written(store: MemoryStore) -> Iterator[tuple[Path, str]]:
    """Yield the work trees in which a file was written, with the project of each."""
    for project in store.projects.names():
        for entry in store.kv.list(PREFIX, project=project):
            work_tree = entry.value.get("work_tree") if isinstance(entry.value, dict) else None
            if isinstance(work_tree, str) and Path(work_tree).is_absolute():
                yield Path(work_tree), project


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)
