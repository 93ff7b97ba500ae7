"""Check of the project that commands in this folder concern."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text.suggest import nearest

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_MOST: Final = 3


def check_project(run: Invocation, store: MemoryStore) -> Iterator[Check]:
    """Report the project that a setting names, or the project of the folder."""
    name, named = store.project, run.config.project
    if named is not None:
        yield _check_named(named, run.config.origins["project"], store.projects.names())
    elif name is None:
        yield Check("project", Level.NOTE, f"{run.folder} has no memories yet", _hint_for_moved(store))
    else:
        # A project keeps its name if its folder is moved, and may be named after the former folder.
        where = "" if name == str(run.folder) else f", the project of {run.folder}"
        yield Check("project", Level.OK, f"{name}{where}")


def _check_named(name: str, origin: str, known: list[str]) -> Check:
    """Check that a project has the name, which a rename may have changed."""
    if name in known:
        return Check("project", Level.OK, f"{name} ({origin})")
    near = nearest(name, known)
    hint = "opencode-memory projects list" if near is None else f"did you mean {near!r}?"
    return Check("project", Level.NOTE, f"no project is named {name!r} ({origin}); it may have been renamed", hint)


def _hint_for_moved(store: MemoryStore) -> str | None:
    """Name the projects whose folders are all gone, of which one may have been moved here."""
    gone = [
        project.name
        for project in store.projects.list()
        if project.folders and not any(map(os.path.exists, project.folders))
    ]
    if not gone:
        return None
    names = ", ".join(gone[:_MOST]) + (" …" if len(gone) > _MOST else "")
    return (
        f"the folder is gone of: {names}. If it was moved here, store a memory here, and then: "
        "opencode-memory projects merge OLD NEW"
    )
