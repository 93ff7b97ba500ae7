"""Imports exports of this program and of other systems.

A format is recognised by the content of a file, never by its name. An import reads its source three times: to find
errors, to try it out in a temporary store, and to write. A damaged file therefore changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from opencode_memory.errors import InvalidInputError
from opencode_memory.exchange import markdown, native_json, opencode_manager, semantic_memory
from opencode_memory.exchange.bounds import Bounds
from opencode_memory.exchange.dry_run import rehearsal
from opencode_memory.exchange.foreign import ForeignExport, write_foreign
from opencode_memory.exchange.formats import FOREIGN_FORMATS, IMPORT_FORMATS, check_format
from opencode_memory.exchange.plans_and_loops import check_readable
from opencode_memory.exchange.renamed import find_renamed, take_names
from opencode_memory.exchange.results import ImportReport
from opencode_memory.exchange.source import TextSource, open_source
from opencode_memory.models import ALL_PROJECTS, Category, ProjectIdentity, Scope, Status, Trust
from opencode_memory.store import arguments
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_INSTRUCTIONS: Final = frozenset({Category.DIRECTIVE, Category.PROCEDURE})
"""Categories of memories that instruct agents."""


def import_memories(
    store: MemoryStore,
    source: Path | str | TextIO,
    *,
    format: str | None = None,
    project: str | None = None,
    within: Scope | None = None,
    trusted: bool = True,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Import an export of ``export_memories`` or of another system.

    Args:
        store: The store to write to.
        source: A file or a text stream.
        format: One of ``IMPORT_FORMATS``; None to detect it.
        project: Import everything into this project, global memories as well; not for a complete export of ours, which
            names its own projects.
        within: Refuse a source that would write outside of a project and the global memories
            (``Scope.seen_from(project)``), or outside of the global memories (``Scope.global_only()``). The source
            then never counts as this store's own past.
        trusted: Whether the source may count as this store's own past, and may assign repositories to projects.
        dry_run: Only check and count.
        progress: Called with the number of rows done, and of all.

    Raises:
        InvalidInputError: The format is unknown, or the source is invalid; the message names the place.
        StorageError: The file cannot be read.
    """
    source = arguments.path_or_stream(source, field="source", method="read")
    format = arguments.optional_text(format, field="format")  # noqa: A001  the word of the API
    project = arguments.project_name(project)
    if within is not None and not isinstance(within, Scope):
        raise InvalidInputError(f"within: must be a Scope, not {type(within).__name__}", field="within")
    owner = None if within is None else arguments.project_name(within.name)
    trusted = arguments.flag(trusted, field="trusted")
    dry_run = arguments.flag(dry_run, field="dry_run")
    check_format(format, IMPORT_FORMATS)
    # One undo takes back the whole import.
    store = store.in_one_operation()
    trusted = trusted and within is None
    with open_source(source) as text:
        name = format or _recognise(text)
        bounds = None if within is None else Bounds(store, owner, text)
        if name == native_json.NAME:
            if project is not None:
                raise InvalidInputError(
                    "a complete export names its own projects; import it without a project", field="project"
                )
            return _import_native(
                store, text, bounds=bounds, namespace=owner, trusted=trusted, dry_run=dry_run, progress=progress
            )
        export, as_own = _read(store, text, name, trusted=trusted)
    if bounds is not None:
        _check(bounds, export, names_projects=name == markdown.NAME and project is None)
    if within is not None and project is None and name != markdown.NAME:
        # Other systems name projects of their own, so all memories belong to the client's project, or are global.
        export, project = _without_projects(export), owner
    return _import_foreign(
        store, text, export, name=name, project=project, as_own=as_own, dry_run=dry_run, progress=progress
    )


def _read(store: MemoryStore, text: TextSource, name: str, *, trusted: bool) -> tuple[ForeignExport, bool]:
    """Read a source that is no complete export of ours. Return also whether it is this store's own past."""
    if name != markdown.NAME:
        return FOREIGN_FORMATS[name][1](text), False
    export = markdown.read(text)
    if trusted and _is_own_past(store, {str(memory.id): memory.trust for memory in export.memories}):
        return export, True
    return export.as_untrusted(), False


def _check(bounds: Bounds, export: ForeignExport, *, names_projects: bool) -> None:
    """Refuse memories outside of the bounds.

    Args:
        bounds: The bounds.
        export: The memories.
        names_projects: Whether they name projects of this store, as our own export does. Other systems have names of
            their own.

    Raises:
        InvalidInputError: A memory is outside.
    """
    for memory in export.memories:
        if names_projects:
            bounds.check("memory", {"id": memory.id, "project": memory.project})
        else:
            bounds.check_id(memory.id)


def _import_native(
    store: MemoryStore,
    text: TextSource,
    *,
    bounds: Bounds | None,
    namespace: str | None,
    trusted: bool,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> ImportReport:
    found: Counter[str] = Counter()
    trusts: dict[str, str] = {}
    instructions: Counter[str] = Counter()
    projects: list[Mapping[str, Any]] = []
    for line, kind, row in native_json.read(text):
        found[kind] += 1
        if kind == "project":
            projects.append(row)
        if bounds is not None:
            bounds.check(kind, row, line)
        if kind == "memory":
            trusts[str(row.get("id"))] = str(row.get("trust"))
            # The engine checks the row later, so the category may still be of any type, also of one without a hash.
            if str(row.get("category")) in _INSTRUCTIONS:
                instructions[str(row.get("status"))] += 1
    if bounds is not None:
        bounds.check_ends()
    as_own = trusted and _is_own_past(store, trusts)
    with rehearsal(store) as nowhere:
        native_json.load(
            nowhere, text, as_own=as_own, with_projects=trusted, renamed={}, namespace=namespace, progress=None
        )
        try:
            check_readable(nowhere)
        except InvalidInputError as error:
            raise text.wrong(str(error), field=error.field) from error
    counts: Mapping[str, Mapping[str, int]] = {kind: {"found": number} for kind, number in found.items()}
    if not dry_run:
        total = found.total()
        report = None if progress is None else lambda done: progress(done, total)
        # A file of somebody else must not say which repository a project has.
        renamed = take_names(store, find_renamed(store, projects)) if trusted else {}
        counts = native_json.load(
            store, text, as_own=as_own, with_projects=trusted, renamed=renamed, namespace=namespace, progress=report
        )
    return ImportReport(
        format=native_json.NAME,
        dry_run=dry_run,
        counts=counts,
        trusted=as_own,
        instructions=_count_instructions(instructions, as_own=as_own),
    )


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
            write_foreign(nowhere, export, projects=_project_names(nowhere, project, name), progress=None)
        except InvalidInputError as error:
            raise text.wrong(str(error), field=error.field) from error
    counts: Mapping[str, Mapping[str, int]] = {
        "memory": {"found": len(export.memories)},
        "link": {"found": len(export.links)},
    }
    if not dry_run:
        counts = write_foreign(store, export, projects=_project_names(store, project, name), progress=progress)
    instructions = Counter(memory.status for memory in export.memories if memory.category in _INSTRUCTIONS)
    return ImportReport(
        format=name,
        dry_run=dry_run,
        counts=counts,
        skipped=tuple(export.skipped),
        trusted=as_own,
        instructions=_count_instructions(instructions, as_own=as_own),
    )


def _without_projects(export: ForeignExport) -> ForeignExport:
    return replace(export, memories=[replace(memory, project=None) for memory in export.memories])


def _count_instructions(by_status: Counter[str], *, as_own: bool) -> int:
    """Return how many instructions of a source become active, or wait for review if the source is not trusted."""
    return by_status[Status.ACTIVE] + (0 if as_own else by_status[Status.CANDIDATE])


def _is_own_past(store: MemoryStore, trusts: Mapping[str, str]) -> bool:
    """Return whether an export is this store's own past: it contains every memory of the store.

    This is the case for a move to a new machine, and for an import that continues after an interruption. A file that is
    added to other memories may come from anyone. So may a file that was imported as untrusted before: it claims more
    trust for its memories than they have here.

    Args:
        store: The store to write to.
        trusts: The trust of each memory in the export, by id.
    """
    for memory in list_all(store, project=ALL_PROJECTS, status=[*Status], with_expired=True):
        trust = trusts.get(memory.id)
        if trust is None or (memory.trust is Trust.IMPORTED and trust != Trust.IMPORTED):
            return False
    return True


def _recognise(text: TextSource) -> str:
    head = text.head()
    if native_json.recognises(head):
        return native_json.NAME
    if markdown.recognises(head):
        return markdown.NAME
    for name, (recognises, _) in FOREIGN_FORMATS.items():
        if recognises(head):
            return name
    if head.lstrip().startswith("{") and isinstance(document := text.json(), dict):
        # A document that was formatted again may have its keys in any order.
        if document.get("format") == native_json.FORMAT:
            return native_json.NAME
        if {"memories", "links", "entities"} <= document.keys():
            return semantic_memory.NAME
    error = text.wrong("is in no format that is known here")
    error.hint = f"known are {', '.join(IMPORT_FORMATS)}; notes in Markdown are read by `opencode-memory ingest`"
    raise error


def _project_names(store: MemoryStore, project: str | None, format: str) -> Callable[[str | None], str | None]:
    """Return the mapping from the project names of a format to ours."""
    known = store.projects.list()
    translated: dict[str, str] = {}

    def translate(foreign: str) -> str:
        if opencode_manager.ROOT_COMMIT.fullmatch(foreign):
            meant = [existing.name for existing in known if foreign in existing.root_commits]
            if len(meant) != 1:
                return store.projects.resolve(ProjectIdentity(root_commits=(foreign,))) or foreign
        else:
            # Other systems omit the host: acme/shop is github.com/acme/shop if only one project matches.
            names = [existing.name for existing in known]
            meant = [name for name in names if name == foreign or name.endswith(f"/{foreign}")]
        return meant[0] if len(meant) == 1 else foreign

    def name_here(foreign: str | None) -> str | None:
        if project is not None or foreign is None:
            return project
        if format == markdown.NAME:
            # Our own names are complete: app is another project than github.com/acme/app.
            return foreign
        if foreign not in translated:
            translated[foreign] = translate(foreign)
        return translated[foreign]

    return name_here
