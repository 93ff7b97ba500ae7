"""``opencode-memory export`` and ``import``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.parameters import STANDARD_INPUT, PathType
from opencode_memory.cli.progress import embed_pending, progress
from opencode_memory.errors import NotFoundError
from opencode_memory.exchange import ImportReport, export_memories, import_memories
from opencode_memory.text.formatting import format_count

_EXPORT_FORMATS = ("json", "markdown")
_IMPORT_FORMATS = (*_EXPORT_FORMATS, "opencode-semantic-memory", "ocm-mem-json", "ocm-mem-markdown")
_MARKDOWN = (".md", ".markdown")
_READ_SO_FAR = "What was imported so far is stored. A second import of the same file adds the rest."
_NOUNS = {"history": "change", "kv": "value", "document": "plan and loop record"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Format and target of an export; without a file, it goes to standard output."""

    format: str
    file: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """Source and format of an import; None detects the format. An untrusted file never counts as the user's own."""

    file: str
    format: str | None
    untrusted: bool
    dry_run: bool


@command("export")
@click.option(
    "-f",
    "--format",
    type=click.Choice(_EXPORT_FORMATS),
    help="json is complete; markdown is for reading.  [default: by the ending of the file, or json]",
)
@click.option(
    "-o",
    "--output",
    "file",
    type=PathType(dir_okay=False),
    help="File to write.  [default: standard output]",
)
def export(run: Invocation, *, format: str | None, file: Path | None) -> None:
    """Export all memories, or with -p those of one project and the global ones."""
    ending = "markdown" if file is not None and file.suffix.lower() in _MARKDOWN else "json"
    write(run, ExportRequest(format=format or ending, file=file))


def write(run: Invocation, request: ExportRequest) -> None:
    """Write an export and print its counts."""
    project = run.given.project
    with run.open_store() as store:
        if project is not None and project not in store.projects.names():
            # An empty export would replace an earlier one, for example because of a misspelt name.
            raise NotFoundError("nothing was exported, because no project has this name", id=project)
        report = export_memories(store, request.file or sys.stdout, format=request.format, project=project)
    for problem in report.refused:
        run.out.note(
            f"{problem}; no import accepts this export before the record is repaired, see `opencode-memory doctor`"
        )
    if request.file is None:
        return
    if run.out.as_json:
        run.out.json(report)
    else:
        run.out.line(f"{request.file}: {_format_counts(report.counts)}.")


@command("import")
@click.argument("file")
@click.option("-f", "--format", type=click.Choice(_IMPORT_FORMATS), help="Format of FILE.  [default: detected]")
@click.option("--untrusted", is_flag=True, help="The file is from someone else: its instructions wait for review.")
@click.option("--dry-run", is_flag=True, help="Check the file without writing to the store.")
def import_(run: Invocation, *, file: str, format: str | None, untrusted: bool, dry_run: bool) -> None:
    """Import an export of this or another system. FILE may be - for standard input.

    Memories of your own export keep their trust if the store holds no other memories, as on a new machine. Otherwise,
    and with --untrusted, they have the trust of an import.

    A second import of the same file changes nothing. -p stores the memories of a Markdown export, or of another
    system, in that project.
    """
    if not file:
        raise click.BadParameter("the path is empty", param_hint="FILE")
    read(run, ImportRequest(file=file, format=format, untrusted=untrusted, dry_run=dry_run))


def read(run: Invocation, request: ImportRequest) -> None:
    """Import an export and print the result."""
    source = sys.stdin if request.file == STANDARD_INPUT else Path(request.file)
    with run.open_store(creates_project=not request.dry_run, background=False) as store:
        kept = "" if request.dry_run else _READ_SO_FAR
        with progress("importing", quiet=run.out.as_json, kept=kept) as show:
            report = import_memories(
                store,
                source,
                format=request.format,
                project=run.given.project,
                trusted=not request.untrusted,
                dry_run=request.dry_run,
                progress=show,
            )
        _print_import(run, report, dry_run=request.dry_run)
        if not request.dry_run:
            embed_pending(run, store)


def _print_import(run: Invocation, report: ImportReport, *, dry_run: bool) -> None:
    if run.out.as_json:
        run.out.json(report)
        return
    for skipped in report.skipped:
        run.out.note(f"skipped {skipped}")
    run.out.line(f"Read as {report.format}: {_format_counts({kind: report.total(kind) for kind in report.counts})}.")
    if report.total("memory"):
        run.out.line(f"  {_describe_trust(report)}")
    for kind, happened in report.counts.items():
        if report.total(kind) and not dry_run:
            what = ", ".join(f"{number:,} {outcome}" for outcome, number in happened.items())
            run.out.line(f"  {format_count(report.total(kind), _NOUNS.get(kind, kind))}: {what}")


def _describe_trust(report: ImportReport) -> str:
    instructions = format_count(report.instructions, "instruction")
    if not report.trusted and report.counts["memory"].keys() != {"stored"}:
        # A dry run does not know which memories are known here, and those keep their trust.
        waiting = f"; of its {instructions}, those that are new await your review" if report.instructions else ""
        return f"Memories that are new here have the trust of an import{waiting}."
    if not report.trusted:
        waiting = "await" if report.instructions != 1 else "awaits"
        return f"Its memories have the trust of an import; {instructions} {waiting} your review."
    follow = f" Agents follow its {instructions} at once." if report.instructions else ""
    return (
        f"The store held no other memories, so these keep the trust of the file.{follow} "
        "Import a file of someone else with --untrusted."
    )


def _format_counts(counts: Mapping[str, int]) -> str:
    return (
        ", ".join(format_count(number, _NOUNS.get(kind, kind)) for kind, number in counts.items() if number)
        or "nothing"
    )
