"""``opencode-memory ingest``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.embed import embed_what_waits
from opencode_memory.cli.progress import progress
from opencode_memory.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """Which notes to read."""

    path: Path
    dry_run: bool


@command("ingest")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def ingest(run: Invocation, *, path: Path, dry_run: bool) -> None:
    """Keep memories in step with Markdown notes: those of a file, or of all notes under a folder.

    Each section becomes a memory. Run it again after an edit to update, after a deletion to archive.
    """
    read_notes(run, IngestRequest(path=path, dry_run=dry_run))


def read_notes(run: Invocation, request: IngestRequest) -> None:
    """Bring the memories in step with the notes and say what was done."""
    from opencode_memory.ingest.folder import ingest as ingest_notes  # noqa: PLC0415  only here, and only when it runs

    with run.open_store(creates_project=not request.dry_run, background=False) as store:
        with progress("reading", quiet=run.out.as_json) as show:
            report = ingest_notes(store, request.path, top=run.work_tree, dry_run=request.dry_run, progress=show)
        if not request.dry_run:
            embed_what_waits(run, store)
    if run.out.as_json:
        run.out.json(report)
        return
    for skipped in report.skipped:
        run.out.note(f"skipped {skipped.file}: {skipped.reason}")
    changes = {
        "added": report.added,
        "updated": report.updated,
        "archived": report.archived,
        "unchanged": report.unchanged,
    }
    summary = ", ".join(f"{number} {what}" for what, number in changes.items() if number) or "nothing to read"
    run.out.line(f"{counted(report.files, 'note')}: {summary}.{' Nothing was written.' if request.dry_run else ''}")
