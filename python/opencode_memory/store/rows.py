"""The rows of a store, kind by kind, as exports and imports carry them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import RememberResult, ScopeKind
from opencode_memory.store import arguments
from opencode_memory.store.snapshots import temporary_copy

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_KINDS: Final = ("project", "memory", "link", "history", "kv", "document")
_PAGE: Final = 1000
_USE_COUNTERS: Final = ("uses", "used_at")


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Selects rows; links and history are selected with their memory.

    Attributes:
        project: Only rows of this project and global rows; None for all.
        scope: ``global`` for only what belongs to no project, ``project`` for only what belongs to one; None for both.
        categories: Only memories of these; None for all.
        since_ms: Only memories created since; None for all.
    """

    project: str | None = None
    categories: frozenset[str] | None = None
    since_ms: int | None = None
    scope: str | None = None
    _memories: set[str] = field(default_factory=set)

    def accepts(self, kind: str, row: Mapping[str, Any]) -> bool:
        """Return whether a row is selected. Rows have to come kind by kind, memories before their links and history."""
        if self.project is None and self.scope is None and not self._is_part:
            return True
        if kind == "project":
            return self._accepts_project(row["name"])
        if kind == "memory":
            if self._accepts_memory(row):
                self._memories.add(row["id"])
                return True
            return False
        if kind == "link":
            return row["source"] in self._memories and row["target"] in self._memories
        if kind == "history":
            return row["memory"] in self._memories
        return kind in {"kv", "document"} and not self._is_part and self._accepts_project(row["project"])

    @property
    def _is_part(self) -> bool:
        return self.categories is not None or self.since_ms is not None

    def _accepts_project(self, name: str | None) -> bool:
        if name is None:
            return self.scope != ScopeKind.PROJECT
        return self.scope != ScopeKind.GLOBAL and self.project in (None, name)

    def _accepts_memory(self, row: Mapping[str, Any]) -> bool:
        return (
            self._accepts_project(row["project"])
            and (self.categories is None or row["category"] in self.categories)
            and (self.since_ms is None or row["created_at"] >= self.since_ms)
        )


class Rows:
    """The rows of a store; ``MemoryStore.rows`` is one.

    Args:
        engine: The engine of the store.
        write: Writes a batch of memories.
    """

    def __init__(
        self, engine: Engine, write: Callable[[Sequence[Mapping[str, Any]]], Sequence[RememberResult]]
    ) -> None:
        self._engine = engine
        self._write = write

    def dump(
        self,
        *,
        project: str | None = None,
        scope: str | None = None,
        categories: Sequence[str] | None = None,
        since_ms: int | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every row of the store, kind by kind, from one consistent copy.

        Args:
            project: Only rows of this project and global rows; None for everything.
            scope: ``global`` or ``project`` for only global rows, or only rows of a project.
            categories: Only memories of these categories, with their links and history.
            since_ms: Only memories created at this time or later, in UTC milliseconds, with their links and history.

        Yields:
            ``project``, ``memory``, ``link``, ``history``, ``kv`` or ``document``, and a JSON object.
        """
        row_filter = RowFilter(
            arguments.project_name(project),
            None if categories is None else frozenset(arguments.texts(categories, field="categories")),
            arguments.whole(since_ms, field="since_ms"),
            arguments.optional_text(scope, field="scope"),
        )
        with temporary_copy(self._engine) as copy:
            yield from _select_rows(copy, row_filter)

    def load(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Write rows of ``dump``; writing the same rows again changes nothing.

        Args:
            kind: Kind of the rows, as ``dump`` yields it.
            rows: Rows of this kind.

        Returns:
            The outcome of each row: ``stored``, ``merged``, ``updated`` or ``kept``.

        Raises:
            InvalidInputError: A row is invalid.
        """
        for row in rows:
            if not isinstance(row, Mapping):
                raise InvalidInputError(f"rows: must be mappings, not {type(row).__name__}", field="rows")
        if kind == "memory":
            # The use counters of another store say nothing about this one.
            memories = [{name: row[name] for name in row if name not in _USE_COUNTERS} for row in rows]
            return [str(result.status) for result in self._write(memories)]
        added, merged = self._engine.load(
            arguments.text(kind, field="kind"), [arguments.json_text(dict(row), field=kind) for row in rows]
        )
        return ["stored"] * added + ["merged"] * merged


def _select_rows(engine: Engine, row_filter: RowFilter) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the content of each selected row, page by page."""
    for kind in _KINDS:
        cursor: int | None = 0
        while cursor is not None:
            page, cursor = engine.dump(kind, cursor, _PAGE)
            for row in map(json.loads, page):
                if row_filter.accepts(kind, row):
                    yield kind, row
