"""Restricts an import whose client may write to one project, or to the global memories, only.

A file may name any project and any id. Rows about memories of other projects, including deleted ones, are refused
before any row is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.exchange.source import TextSource
from opencode_memory.models import Memory

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


class Bounds:
    """One project and the global memories, or the latter alone, as the limits of an import."""

    def __init__(self, store: MemoryStore, project: str | None, source: TextSource) -> None:
        self._store = store
        self._project = project
        self._source = source
        self._ids: set[str | None] = set()
        # Links may come before their memories.
        self._awaited: dict[str | None, int | None] = {}

    def check(self, kind: str, row: Mapping[str, Any], line: int | None = None) -> None:
        """Refuse a row that would write outside the limits.

        Raises:
            InvalidInputError: It would; the message names the line.
        """
        named = row.get("name") if kind == "project" else row.get("project")
        if named not in (None, self._project):
            raise self._outside(repr(named), line)
        if kind == "memory":
            self.check_id(row.get("id"), line)
        if kind == "link":
            for end in (row.get("source"), row.get("target")):
                if not self._is_inside(end, line) and (known := _canonical(end)) not in self._ids:
                    self._awaited.setdefault(known, line)

    def check_id(self, id: object, line: int | None = None) -> None:
        """Refuse a memory with the id of a memory outside the project.

        Raises:
            InvalidInputError: Its id belongs to one.
        """
        self._is_inside(id, line)
        self._ids.add(_canonical(id))

    def check_ends(self) -> None:
        """After the last row, refuse links to memories that are neither in the store nor in the source.

        Raises:
            InvalidInputError: There is one.
        """
        for end, line in self._awaited.items():
            if end is None or end not in self._ids:
                raise self._outside("a link of an unknown memory", line)

    def _is_inside(self, id: object, line: int | None) -> bool:
        """Return whether the store has a memory; raise if it belongs to another project."""
        known = _last_known(self._store, id)
        if known is not None and known.project not in (None, self._project):
            raise self._outside(repr(known.project), line)
        return known is not None

    def _outside(self, what: str, line: int | None) -> InvalidInputError:
        limits = "the global memories" if self._project is None else repr(self._project)
        error = self._source.wrong(f"would write into {what}, outside of {limits}", line=line)
        error.hint = (
            "a client whose folder is unknown imports global memories only; the command line imports everything"
            if self._project is None
            else "a client imports into its own project only; the command line imports everything"
        )
        return error


def _last_known(store: MemoryStore, id: object) -> Memory | None:
    """Return a memory, or its last state before its deletion: a new memory with its id would inherit its history."""
    if (known := _canonical(id)) is None:
        return None
    try:
        return store.get(known)
    except NotFoundError:
        pass
    try:
        changes = store.history(known)
    except NotFoundError:
        return None
    states = (change.after or change.before for change in reversed(changes))
    return next((state for state in states if state is not None), None)


def _canonical(id: object) -> str | None:
    # The engine accepts every spelling of a UUID.
    try:
        return str(UUID(id.strip())) if isinstance(id, str) else None
    except ValueError:
        return None
