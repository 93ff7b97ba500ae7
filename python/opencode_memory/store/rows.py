"""Every row of a store, kind by kind, as an export carries it, and which of them somebody wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.models import Scope

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_KINDS: Final = ("project", "memory", "link", "history", "kv")
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are wanted; what belongs to a memory is wanted with it.

    Attributes:
        project: Only of this project or of none; None for all.
        scope: ``global`` for only what belongs to no project, ``project`` for only what belongs to one; None for both.
        categories: Only memories of these; None for all.
        since_ms: Only memories created since; None for all.
    """

    project: str | None = None
    categories: frozenset[str] | None = None
    since_ms: int | None = None
    scope: str | None = None
    _memories: set[str] = field(default_factory=set)

    def takes(self, kind: str, row: Mapping[str, Any]) -> bool:
        """Say whether a row is wanted; rows have to come kind by kind, memories before what belongs to them."""
        if self.project is None and self.scope is None and not self._is_part:
            return True
        if kind == "project":
            return self._takes_project(row["name"])
        if kind == "memory":
            if self._takes_memory(row):
                self._memories.add(row["id"])
                return True
            return False
        if kind == "link":
            return row["source"] in self._memories and row["target"] in self._memories
        if kind == "history":
            return row["memory"] in self._memories
        return kind == "kv" and not self._is_part and self._takes_project(row["project"])

    @property
    def _is_part(self) -> bool:
        return self.categories is not None or self.since_ms is not None

    def _takes_project(self, name: str | None) -> bool:
        if name is None:
            return self.scope != Scope.PROJECT
        return self.scope != Scope.GLOBAL and self.project in (None, name)

    def _takes_memory(self, row: Mapping[str, Any]) -> bool:
        return (
            self._takes_project(row["project"])
            and (self.categories is None or row["category"] in self.categories)
            and (self.since_ms is None or row["created_at"] >= self.since_ms)
        )


def rows(engine: Engine, wanted: Wanted) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (kind, row) of what is wanted, page by page."""
    for kind in _KINDS:
        cursor: int | None = 0
        while cursor is not None:
            page, cursor = engine.dump(kind, cursor, _PAGE)
            for row in map(json.loads, page):
                if wanted.takes(kind, row):
                    yield kind, row
