"""Tools that read and write files. Paths must lie in the client's project, its exports, or an allowed folder.

Each tool imports its work when it is first called, because few sessions call one of these tools.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from opencode_memory.errors import InvalidInputError, StorageError
from opencode_memory.models import ALL_PROJECTS, Scope, ScopeKind
from opencode_memory.projects.identity import find_repository
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import Call
from opencode_memory.server.toolbox import shape, tool
from opencode_memory.server.tools.argument_types import FilePath, Project
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from opencode_memory.exchange import ImportReport

_HEAD_CHARACTERS: Final = 4096
_NOUNS: Final = {"link": "link", "kv": "value", "history": "change", "document": "plan and loop record"}
"""Kinds of rows that an import may read beside memories."""
_MOST_MOVED: Final = 50
"""Moved sections that an answer names."""


@tool(answers=shape(path="string", counts="object"))
def export_memories(
    call: Call,
    output_path: Annotated[FilePath | None, Field(description="default: a new file in the data directory")] = None,
    project: Project = None,
    categories: list[str] | None = None,
    since_days: Annotated[int | None, Field(ge=0, le=36_500)] = None,
) -> Answer:
    """Export memories with history and links to a JSON file, or to Markdown if it ends in .md."""
    from opencode_memory import exchange  # noqa: PLC0415  see above

    where = call.resolve_project(project)
    name = f"memories-{call.at:%Y%m%dT%H%M%S%fZ}.json"
    target = call.confine(output_path or str(call.exports / name), field="output_path")
    if target.is_relative_to(call.exports.resolve()):
        _make_private(call.state.exports, call.exports)
    if target.is_dir():
        target /= name
    _check_replaceable(target)
    report = exchange.export_memories(
        call.store,
        target,
        format="markdown" if target.suffix in (".md", ".markdown") else "json",
        project=None if where == ALL_PROJECTS else where,
        scope=ScopeKind.GLOBAL if where is None else None,
        categories=categories,
        since=None if since_days is None else call.at - timedelta(days=since_days),
        with_own_state=False,
    )
    text = f"Wrote {format_count(report.counts['memory'], 'memory')} to {target}"
    return Answer(text, {"path": str(target), "counts": dict(report.counts)})


@tool(answers=shape(counts="object"))
def import_memories(
    call: Call,
    input_path: FilePath,
    dry_run: bool = False,
    skip_duplicates: Annotated[bool, Field(description="must be true")] = True,
) -> Answer:
    """Import memories from an export of this or another memory system. Directives await review."""
    from opencode_memory import exchange  # noqa: PLC0415  see above

    if not skip_duplicates:
        raise InvalidInputError(
            "skip_duplicates: must be true; a memory is never stored twice; leave it out", field="skip_duplicates"
        )
    source = call.confine(input_path, field="input_path")
    # Anyone may have written a file in a project. So do not trust its memories as words of the user.
    is_bounded = call.client.project is not None or not call.client.may_cross
    within = Scope.seen_from(call.client.project) if is_bounded else None
    report = exchange.import_memories(call.store, source, within=within, trusted=False, dry_run=dry_run)
    counts = {kind: dict(found) for kind, found in report.counts.items()}
    what = ", ".join(f"{number} {outcome}" for outcome, number in counts.get("memory", {}).items() if number)
    text = join_lines(
        f"{'Would read' if dry_run else 'Read'} {format_count(report.total('memory'), 'memory')} "
        f"({report.format}): {what}",
        *(_describe_rows(report, kind, noun) for kind, noun in _NOUNS.items()),
        f"Directives and procedures in it: {report.instructions}. Those that are new await the user's review."
        if report.instructions
        else None,
        *(f"skipped: {one_line(skipped)}" for skipped in report.skipped[:10]),
    )
    return Answer(
        text, {"format": report.format, "dry_run": dry_run, "counts": counts, "skipped": list(report.skipped)}
    )


@tool(repeats=True, answers=shape(added="integer", archived="integer"))
def ingest_file(call: Call, file_path: FilePath, dry_run: bool = False) -> Answer:
    """Synchronize memories with a Markdown file or folder, one per section."""
    from opencode_memory.notes.folder import ingest  # noqa: PLC0415  see above

    path = call.confine(file_path, field="file_path")
    report = ingest(call.store, path, project=call.client.project, top=_find_work_tree(path), dry_run=dry_run)
    changes = {
        "added": report.added,
        "updated": report.updated,
        "moved": len(report.moved),
        "archived": report.archived,
        "unchanged": report.unchanged,
    }
    text = join_lines(
        f"{format_count(report.files, 'note')}: " + ", ".join(f"{number} {what}" for what, number in changes.items()),
        *(f"skipped: {one_line(skipped.file)}: {one_line(skipped.reason)}" for skipped in report.skipped[:10]),
    )
    data: dict[str, Any] = to_json(replace(report, moved=report.moved[:_MOST_MOVED]))
    return Answer(text, data)


@tool(repeats=True, answers=shape(added="integer"))
def bootstrap_memory(call: Call, path: Annotated[str, Field(max_length=4096)] = ".") -> Answer:
    """Store first facts about a project from its README, agent instructions and manifests."""
    from opencode_memory.notes.bootstrap import bootstrap  # noqa: PLC0415  see above

    folder = call.confine(path, field="path")
    if not call.client.folders and path == ".":
        raise InvalidInputError("path: this client has no project folder; give the path of one", field="path")
    if not folder.is_dir():
        raise InvalidInputError(f"path: {path!r} is not a folder", field="path")
    if folder.is_relative_to(call.state.exports.resolve()):
        raise InvalidInputError(f"path: {path!r} is a folder of exports, not of a project", field="path")
    report = bootstrap(call.store, folder, project=call.client.project)
    text = join_lines(
        f"Read {', '.join(report.files) or 'no file'}: {report.added} added, {report.updated} updated, "
        f"{report.unchanged} unchanged.",
        *(f"skipped: {one_line(skipped.file)}: {one_line(skipped.reason)}" for skipped in report.skipped[:10]),
    )
    data: dict[str, Any] = to_json(report)
    return Answer(text, data)


def _describe_rows(report: ImportReport, kind: str, noun: str) -> str | None:
    """Say what happened to the rows of a kind; None if there are none."""
    if not report.total(kind):
        return None
    what = ", ".join(f"{number} {outcome}" for outcome, number in report.counts[kind].items() if number)
    return f"{format_count(report.total(kind), noun)}: {what}"


def _find_work_tree(path: Path) -> Path | None:
    repository = find_repository(path if path.is_dir() else path.parent)
    return repository.work_tree if repository is not None else None


def _make_private(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create {folder}: {error.strerror}", path=str(folder)) from error


def _check_replaceable(target: Path) -> None:
    """Refuse a target inside ``.git``, and an existing target that is not an export of this program."""
    problem = "lies in a .git folder" if ".git" in (part.lower() for part in target.parts) else None
    try:
        if problem is None and target.exists() and not _is_export(target):
            problem = "already exists and is not an export of this program"
    except OSError as error:
        raise StorageError(f"cannot read {target}: {error.strerror}", path=str(target)) from error
    if problem is not None:
        refusal = InvalidInputError(f"output_path: {target} {problem}", field="output_path")
        refusal.hint = "choose a name that does not exist; only earlier exports are replaced"
        raise refusal


def _is_export(file: Path) -> bool:
    from opencode_memory.exchange import markdown, native_json  # noqa: PLC0415  see above

    if not file.is_file():
        return False
    with file.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(_HEAD_CHARACTERS)
    return native_json.recognises(head) or markdown.recognises(head)
