"""Exports the memories of a store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

from opencode_memory.config.paths import EXPORTS
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError, StorageError
from opencode_memory.exchange import markdown, native_json
from opencode_memory.exchange.formats import EXPORT_FORMATS, check_format
from opencode_memory.exchange.plans_and_loops import EXPORTED, find_refused
from opencode_memory.exchange.results import ExportReport
from opencode_memory.files.atomic import open_atomically, remove_leftovers
from opencode_memory.models import Category, Memory, Scope, ScopeKind, Status
from opencode_memory.store import arguments
from opencode_memory.store.pages import list_all
from opencode_memory.store.reserved_keys import is_reserved
from opencode_memory.store.rows import RowFilter
from opencode_memory.text import clock
from opencode_memory.text.clock import to_ms
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_SURELY_LEFT: Final = timedelta(minutes=10)


def export_memories(
    store: MemoryStore,
    target: Path | str | TextIO,
    *,
    format: str = native_json.NAME,
    project: str | None = None,
    scope: str | None = None,
    categories: Sequence[str] | None = None,
    since: datetime | str | int | None = None,
    with_own_state: bool = True,
) -> ExportReport:
    """Write the memories of a store.

    Args:
        store: Where they are.
        target: A file, which is replaced in one step when all is written, or a text stream.
        format: ``json`` (complete: every status, links, key-value pairs, history, plans and loops) or ``markdown``
            (for people: active memories and candidates).
        project: Only this project and the global memories; None for everything.
        scope: ``global`` or ``project`` for only what belongs to none, or to one; None for both.
        categories: Only memories of these.
        since: Only memories created at this time or later, with their links and history, and nothing else.
        with_own_state: Whether the key-value pairs include this program's own state, for example the switches of
            learning, and, with a project, those of the global namespace. A move to a new machine needs both; the export
            of an agent must not show them.

    Raises:
        InvalidInputError: The format or a choice is unknown, or the file would lie among those of the store.
        StorageError: The file cannot be written.
    """
    target = arguments.path_or_stream(target, field="target", method="write")
    format = arguments.text(format, field="format")  # noqa: A001  the word of the API
    chosen = _Selection(
        project=arguments.project_name(project),
        scope=arguments.optional_text(scope, field="scope"),
        categories=None if categories is None else arguments.texts(categories, field="categories"),
        since_ms=arguments.milliseconds(since, field="since", zone=store.zone),
    )
    with_own_state = arguments.flag(with_own_state, field="with_own_state")
    check_format(format, EXPORT_FORMATS)
    chosen.check()
    _refuse_the_store_itself(store, target)
    with _open_target(target) as out:
        if format == native_json.NAME:
            counts = native_json.write(_rows(store, chosen, with_own_state=with_own_state), out, at=clock.now())
        else:
            counts = {"memory": markdown.write(_groups(store, chosen), out, at=clock.now())}
    refused = find_refused(store) if counts.get("document") else ()
    problems = tuple(record.problem for record in refused if chosen.takes_document(record.document.project))
    return ExportReport(format=format, counts=counts, refused=problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selection:
    """The choices of ``export_memories`` that select memories."""

    project: str | None
    scope: str | None
    categories: Sequence[str] | None
    since_ms: int | None

    def takes_document(self, project: str | None) -> bool:
        """Return whether the export has the plans and loops of a project."""
        categories = None if self.categories is None else frozenset(self.categories)
        return RowFilter(self.project, categories, self.since_ms, self.scope).accepts("document", {"project": project})

    def check(self) -> None:
        """Refuse a scope or a category that does not exist."""
        if self.scope is not None and self.scope not in tuple(ScopeKind):
            error = InvalidInputError(f"scope: unknown scope {self.scope!r}", field="scope")
            error.hint = did_you_mean(self.scope, list(ScopeKind))
            raise error
        for category in self.categories or ():
            if category not in tuple(Category):
                error = InvalidInputError(f"categories: unknown category {category!r}", field="categories")
                error.hint = did_you_mean(category, list(Category))
                raise error


def _rows(store: MemoryStore, chosen: _Selection, *, with_own_state: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a complete export."""
    rows = store.rows.dump(
        project=chosen.project, scope=chosen.scope, categories=chosen.categories, since_ms=chosen.since_ms
    )
    for kind, row in rows:
        # A lease or a running command of a loop belongs to this machine.
        is_left_out = kind == "document" and row["kind"] not in EXPORTED
        if not is_left_out and (with_own_state or kind != "kv" or _is_for_agents(row, chosen.project)):
            yield kind, row


def _is_for_agents(value: dict[str, Any], project: str | None) -> bool:
    """Return whether agents in a project see a key-value pair. Those of a project do not see the global namespace."""
    return not is_reserved(value["key"]) and (project is None or value["project"] == project)


def _groups(store: MemoryStore, chosen: _Selection) -> Iterator[tuple[str | None, Category, Iterator[Memory]]]:
    """Yield the project, the category and the memories of each part of a Markdown export."""
    names = store.projects.names() if chosen.project is None else [chosen.project]
    for name in (None, *sorted(names)):
        if chosen.scope not in (None, ScopeKind.GLOBAL if name is None else ScopeKind.PROJECT):
            continue
        for category in Category:
            if chosen.categories is None or category in chosen.categories:
                yield name, category, _pages(store, name, category, chosen.since_ms)


def _pages(store: MemoryStore, project: str | None, category: Category, since_ms: int | None) -> Iterator[Memory]:
    for status in (Status.ACTIVE, Status.CANDIDATE):
        for memory in list_all(store, scope=Scope.owned_by(project), category=category, status=status):
            if since_ms is None or to_ms(memory.created_at) >= since_ms:
                yield memory


def _refuse_the_store_itself(store: MemoryStore, target: Path | str | TextIO) -> None:
    if not isinstance(target, Path | str):
        return
    path, folder = Path(os.path.realpath(target)), Path(os.path.realpath(store.data_dir))
    if path.is_relative_to(folder) and (folder / EXPORTS) not in path.parents:
        raise InvalidInputError(
            f"path: {target} lies in the folder of the store, whose files an export could replace; choose another",
            field="path",
        )


@contextmanager
def _open_target(target: Path | str | TextIO) -> Iterator[IO[str]]:
    """Open a file that appears under its name only when it is complete, or take a stream."""
    if not isinstance(target, Path | str):
        yield target
        return
    path = Path(os.path.realpath(target))
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe is written to. Another file in its place would take it away from everybody.
            with path.open("w", encoding="utf-8", newline="\n") as out:
                yield out
            return
        remove_leftovers(path, before=clock.now() - _SURELY_LEFT)
        with open_atomically(path) as out:
            yield out
    except OpencodeMemoryError:
        raise  # Some of ours are an OSError too, and have nothing to do with the file.
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}", path=str(target)) from error
