"""Exports and imports: our own formats, and those of the systems that people come from.

A format is recognised by what a file says, never by its name. An import goes through its source once to find what is
wrong, a second time to try it out and a third time to write, so a damaged file changes nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TextIO

from opencode_memory import clock
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError, StorageError
from opencode_memory.formats import incumbent, markdown, native_json, ocm_mem
from opencode_memory.formats.bounds import Bounds
from opencode_memory.formats.foreign import ForeignExport, write_foreign
from opencode_memory.formats.rehearsal import rehearsal
from opencode_memory.formats.report import ExportReport, ImportReport
from opencode_memory.formats.source import TextSource, open_source
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Scope, Status
from opencode_memory.projects.identity import ProjectIdentity
from opencode_memory.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.memory import MemoryStore

__all__ = [
    "EXPORTS",
    "EXPORT_FORMATS",
    "IMPORT_FORMATS",
    "ExportReport",
    "ImportReport",
    "export_memories",
    "import_memories",
]

EXPORT_FORMATS: Final = (native_json.NAME, markdown.NAME)
_FOREIGN: Final[dict[str, tuple[Callable[[str], bool], Callable[[TextSource], ForeignExport]]]] = {
    incumbent.NAME: (incumbent.recognises, incumbent.read),
    ocm_mem.JSON_NAME: (ocm_mem.recognises_json, ocm_mem.read_json),
    ocm_mem.MARKDOWN_NAME: (ocm_mem.recognises_markdown, ocm_mem.read_markdown),
}
IMPORT_FORMATS: Final = (*EXPORT_FORMATS, *_FOREIGN)
EXPORTS: Final = "exports"
"""Folder in a data directory that holds nothing of the store."""
_PAGE: Final = 1000


def export_memories(
    store: MemoryStore,
    target: Path | str | TextIO,
    *,
    format: str = native_json.NAME,
    project: str | None = None,
    scope: str | None = None,
    categories: Sequence[str] | None = None,
    since_ms: int | None = None,
) -> ExportReport:
    """Write the memories of a store.

    Args:
        store: Where they are.
        target: A file, which is replaced in one step when all is written, or a text stream.
        format: ``json`` (complete: every status, links, key-value pairs and history) or ``markdown`` (for people:
            active memories and candidates).
        project: Only this project and the global memories; None for everything.
        scope: ``global`` or ``project`` for only what belongs to none, or to one; None for both.
        categories: Only memories of these.
        since_ms: Only memories created since, in UTC milliseconds.

    Raises:
        InvalidInputError: The format or a choice is unknown, or the file would lie among those of the store.
        StorageError: The file cannot be written.
    """
    _check_format(format, EXPORT_FORMATS)
    if scope is not None and scope not in tuple(Scope):
        error = InvalidInputError(f"scope: unknown scope {scope!r}", field="scope")
        error.hint = did_you_mean(scope, list(Scope))
        raise error
    for category in categories or ():
        if category not in tuple(Category):
            error = InvalidInputError(f"categories: unknown category {category!r}", field="categories")
            error.hint = did_you_mean(category, list(Category))
            raise error
    _refuse_the_store_itself(store, target)
    with _open_target(target) as out:
        if format == native_json.NAME:
            rows = store.dump(project=project, scope=scope, categories=categories, since_ms=since_ms)
            counts = native_json.write(rows, out, at=clock.now())
        else:
            groups = _groups(store, project, scope, categories, since_ms)
            counts = {"memory": markdown.write(groups, out, at=clock.now())}
    return ExportReport(format=format, counts=counts)


def import_memories(
    store: MemoryStore,
    source: Path | str | TextIO,
    *,
    format: str | None = None,
    project: str | None = None,
    within: str | None = None,
    trusted: bool = True,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Read what ``export_memories`` or another system wrote.

    Args:
        store: Where to.
        source: A file or a text stream.
        format: One of ``IMPORT_FORMATS``; None to recognise it.
        project: Put everything into this project, except for a complete export of ours, which names its own.
        within: Refuse a source that would write outside of this project and the global memories. It is never taken for
            this store's own past.
        trusted: Whether the source may be taken for this store's own past, and may say which repositories belong to
            which project.
        dry_run: Only check and count.
        progress: Called with the rows done and how many there are.

    Raises:
        InvalidInputError: The format is unknown, or the source is not what it should be; the message names the place.
        StorageError: The file cannot be read.
    """
    _check_format(format, IMPORT_FORMATS)
    trusted = trusted and within is None
    with open_source(source) as text:
        name = format or _recognise(text)
        bounds = None if within is None else Bounds(store, within, text)
        if name == native_json.NAME:
            if project is not None:
                raise InvalidInputError(
                    "a complete export names its own projects; import it without a project", field="project"
                )
            return _import_native(store, text, bounds=bounds, trusted=trusted, dry_run=dry_run, progress=progress)
        as_own = False
        if name == markdown.NAME:
            export = markdown.read(text)
            as_own = trusted and _is_own_past(store, {str(memory.id) for memory in export.memories})
            export = export if as_own else export.as_of_a_stranger()
        else:
            export = _FOREIGN[name][1](text)
    if bounds is not None:
        for memory in export.memories:
            bounds.check_id(memory.id)
    return _import_foreign(
        store, text, export, name=name, project=project or within, as_own=as_own, dry_run=dry_run, progress=progress
    )


def _import_native(
    store: MemoryStore,
    text: TextSource,
    *,
    bounds: Bounds | None,
    trusted: bool,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> ImportReport:
    found: Counter[str] = Counter()
    ids: set[str] = set()
    for line, kind, row in native_json.read(text):
        found[kind] += 1
        if bounds is not None:
            bounds.check(kind, row, line)
        if kind == "memory":
            ids.add(str(row.get("id")))
    if bounds is not None:
        bounds.check_ends()
    as_own = trusted and _is_own_past(store, ids)
    with rehearsal(store) as nowhere:
        native_json.load(nowhere, text, as_own=as_own, with_projects=trusted, progress=None)
    counts: Mapping[str, Mapping[str, int]] = {kind: {"found": number} for kind, number in found.items()}
    if not dry_run:
        total = found.total()
        report = None if progress is None else lambda done: progress(done, total)
        counts = native_json.load(store, text, as_own=as_own, with_projects=trusted, progress=report)
    return ImportReport(format=native_json.NAME, dry_run=dry_run, counts=counts, trusted=as_own)


def _import_foreign(
    store: MemoryStore,
    text: TextSource,
    export: ForeignExport,
    *,
    name: str,
    project: str | None,
    as_own: bool,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> ImportReport:
    with rehearsal(store) as nowhere:
        try:
            write_foreign(nowhere, export, projects=_project_names(nowhere, project), progress=None)
        except InvalidInputError as error:
            raise text.wrong(str(error), field=error.field) from error
    counts: Mapping[str, Mapping[str, int]] = {
        "memory": {"found": len(export.memories)},
        "link": {"found": len(export.links)},
    }
    if not dry_run:
        counts = write_foreign(store, export, projects=_project_names(store, project), progress=progress)
    return ImportReport(format=name, dry_run=dry_run, counts=counts, skipped=tuple(export.skipped), trusted=as_own)


def _is_own_past(store: MemoryStore, ids: set[str]) -> bool:
    """Whether an export may be taken as this store's own: nothing is here that it does not hold.

    That is a move to a new machine, or one that goes on after an interruption. A file that is added to other memories
    may come from anybody.
    """
    offset = 0
    while page := store.list(project=ALL_PROJECTS, status=[*Status], with_expired=True, limit=_PAGE, offset=offset):
        if not all(memory.id in ids for memory in page):
            return False
        offset += len(page)
    return True


def _recognise(text: TextSource) -> str:
    head = text.head()
    if native_json.recognises(head):
        return native_json.NAME
    if markdown.recognises(head):
        return markdown.NAME
    for name, (recognises, _) in _FOREIGN.items():
        if recognises(head):
            return name
    if head.lstrip().startswith("{") and isinstance(document := text.json(), dict):
        # The keys of a document that was formatted anew may come in any order.
        if document.get("format") == native_json.FORMAT:
            return native_json.NAME
        if {"memories", "links", "entities"} <= document.keys():
            return incumbent.NAME
    error = text.wrong("is in no format that is known here")
    error.hint = f"known are {', '.join(IMPORT_FORMATS)}; notes in Markdown are read by `opencode-memory ingest`"
    raise error


def _project_names(store: MemoryStore, project: str | None) -> Callable[[str | None], str | None]:
    """Return the translation of another system's project names into ours."""
    known = store.projects()
    translated: dict[str, str] = {}

    def translate(foreign: str) -> str:
        if ocm_mem.ROOT_COMMIT.fullmatch(foreign):
            meant = [existing.name for existing in known if foreign in existing.root_commits]
            if len(meant) != 1:
                return store.resolve_project(ProjectIdentity(root_commits=(foreign,))) or foreign
        else:
            # Other systems leave the host out: acme/shop is github.com/acme/shop when only one project can be meant.
            names = [existing.name for existing in known]
            meant = [name for name in names if name == foreign or name.endswith(f"/{foreign}")]
        return meant[0] if len(meant) == 1 else foreign

    def name_here(foreign: str | None) -> str | None:
        if project is not None or foreign is None:
            return project
        if foreign not in translated:
            translated[foreign] = translate(foreign)
        return translated[foreign]

    return name_here


def _groups(
    store: MemoryStore,
    project: str | None,
    scope: str | None,
    categories: Sequence[str] | None,
    since_ms: int | None,
) -> Iterator[tuple[str | None, Category, Iterator[Memory]]]:
    names = [existing.name for existing in store.projects()] if project is None else [project]
    for name in (None, *sorted(names)):
        if scope not in (None, Scope.GLOBAL if name is None else Scope.PROJECT):
            continue
        for category in Category:
            if categories is None or category in categories:
                yield name, category, _pages(store, name, category, since_ms)


def _pages(store: MemoryStore, project: str | None, category: Category, since_ms: int | None) -> Iterator[Memory]:
    scope = "global" if project is None else "project"
    for status in (Status.ACTIVE, Status.CANDIDATE):
        offset = 0
        while page := store.list(
            project=project, scope=scope, category=category, status=status, limit=_PAGE, offset=offset
        ):
            yield from (
                memory for memory in page if since_ms is None or memory.created_at.timestamp() * 1000 >= since_ms
            )
            offset += len(page)


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
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as out:
            try:
                yield out
                out.flush()
                os.fsync(out.fileno())
                Path(out.name).replace(path)
            except BaseException:
                Path(out.name).unlink(missing_ok=True)
                raise
    except OpencodeMemoryError:
        raise  # Some of ours are an OSError too, and have nothing to do with the file.
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}", path=str(target)) from error


def _check_format(name: str | None, known: tuple[str, ...]) -> None:
    if name is not None and name not in known:
        error = InvalidInputError(f"unknown format {name!r}", field="format")
        error.hint = did_you_mean(name, known)
        raise error
