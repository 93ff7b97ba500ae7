"""What an import may write when its client may write into one project only.

A file may name any project and any id. What it says of memories that are elsewhere, or were until they were deleted, is
refused before anything is written.
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
    """One project and the global memories; the rows of one source are held against them."""

    def __init__(self, store: MemoryStore, project: str, source: TextSource) -> None:
        self._store = store
        self._project = project
        self._source = source
        self._ids: set[str | None] = set()
        # Links may stand before the memories that they are about.
        self._awaited: dict[str | None, int] = {}

    def check(self, kind: str, row: Mapping[str, Any], line: int) -> None:
        """Refuse a row that would write outside.

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
        """Refuse a memory that would take the place of one outside.

        Raises:
            InvalidInputError: It would.
        """
        self._is_inside(id, line)
        self._ids.add(_canonical(id))

    def check_ends(self) -> None:
        """Refuse links to what is neither here nor in the source, once all of it was seen.

        Raises:
            InvalidInputError: There is one.
        """
        for end, line in self._awaited.items():
            if end is None or end not in self._ids:
                raise self._outside("a link of an unknown memory", line)

    def _is_inside(self, id: object, line: int | None) -> bool:
        """Whether a memory is known here; raises when it is of another project."""
        known = _last_known(self._store, id)
        if known is not None and known.project not in (None, self._project):
            raise self._outside(repr(known.project), line)
        return known is not None

    def _outside(self, what: str, line: int | None) -> InvalidInputError:
        error = self._source.wrong(f"would write into {what}, outside of {self._project!r}", line=line)
        error.hint = "a client imports into its own project only; the command line imports everything"
        return error


def _last_known(store: MemoryStore, id: object) -> Memory | None:
    """Return a memory as it is here, or as it was before it was deleted: whoever takes its id gets its history."""
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
    # The engine takes a UUID however it is written.
    try:
        return str(UUID(id.strip())) if isinstance(id, str) else None
    except ValueError:
        return None
