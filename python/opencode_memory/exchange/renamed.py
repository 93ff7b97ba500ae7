"""Projects that a complete export names otherwise than the store, because the user has renamed them on one side.

Without this, the memories would come into a second project, which no folder belongs to, and no recall in the
repository would find them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.models import ProjectIdentity

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_NAMES_A_PROJECT: Final = {"project": "name", "memory": "project", "kv": "project", "document": "project"}


def find_renamed(store: MemoryStore, rows: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of projects in an export whose repository has a project of another name in the store.

    Args:
        store: The store to write to.
        rows: The rows of the projects.

    Returns:
        The name in the store, by the name in the export.
    """
    here, there = set(store.projects.names()), {str(row.get("name")) for row in rows}
    found: dict[str, str] = {}
    for row in rows:
        name = str(row.get("name"))
        own = None if name in here else next(_find(store, row), None)
        if own is not None and own not in there and own not in found.values():
            found[name] = own
    return found


def take_names(store: MemoryStore, renamed: Mapping[str, str]) -> dict[str, str]:
    """Let projects without memories have the names of the export, as on a new machine; return the other projects."""
    empty = {project.name for project in store.projects.list() if not project.memories}
    for theirs, own in renamed.items():
        if own in empty:
            store.projects.rename(own, theirs)
    return {theirs: own for theirs, own in renamed.items() if own not in empty}


def with_own_name(kind: str, row: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of an export with the name that its project has in the store."""
    changed = dict(row)
    if kind == "history" and isinstance(before := row.get("before"), Mapping):
        changed["before"] = with_own_name("memory", before, renamed)
    field = _NAMES_A_PROJECT.get(kind)
    if field is not None and isinstance(name := row.get(field), str):
        changed[field] = renamed.get(name, name)
    return changed


def _find(store: MemoryStore, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the projects of the store that have the repository of a row; nothing for a row of another form."""
    remotes, roots, folders = (_texts(row.get(name)) for name in ("remotes", "root_commits", "folders"))
    identities = (
        # Forks have the same first commits, so they do not tell a repository that has a remote.
        [ProjectIdentity(remotes=remotes)]
        if remotes
        else [ProjectIdentity(root_commits=roots, folder=folder) for folder in folders if roots]
    )
    for identity in identities:
        name = store.projects.resolve(identity, create=False)
        if name is not None:
            yield name


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()
