"""``opencode-memory memory-file``: synchronizes a project's memories with a file in its repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.config.sections import MemoryFile
from opencode_memory.errors import InvalidInputError
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.memory_file import MemoryFileReport


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """Options of a synchronization.

    Attributes:
        create: Whether to create a missing file.
        mine: Whether all changes are the user's, also those that came with git.
        dry_run: Whether nothing is written.
    """

    create: bool
    mine: bool
    dry_run: bool


@command("memory-file")
@click.option(
    "--create", is_flag=True, help="Create the file if it does not exist. With memory_file = ask, this is your consent."
)
@click.option("--mine", is_flag=True, help="All changes of the file are yours, also those that came with git.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing.")
def memory_file(run: Invocation, *, create: bool, mine: bool, dry_run: bool) -> int:
    """Import your changes of .opencode/MEMORY.md into the store, and update the file."""
    return sync_file(run, FileRequest(create=create, mine=mine, dry_run=dry_run))


def sync_file(run: Invocation, request: FileRequest) -> int:
    """Synchronize the file and the store, and print the changes."""
    from opencode_memory.memory_file import ChangedBy, sync  # noqa: PLC0415  only here

    top = run.work_tree or run.folder
    # A user who runs this command has consented to reading the file.
    mode = MemoryFile.ASK if run.config.memory_file is MemoryFile.OFF else run.config.memory_file
    with run.open_store(creates_project=not request.dry_run) as store:
        if store.project is None:
            raise InvalidInputError("this folder does not belong to a project in the store", field="--project")
        run.check_files_belong(store)
        report = sync(
            store,
            project=store.project,
            work_tree=top,
            mode=mode,
            max_lines=run.config.max_memory_lines,
            at=run.started_at,
            create=request.create,
            dry_run=request.dry_run,
            changed_by=ChangedBy.PERSON if request.mine else None,
            environment=run.config.environment,
        )
    if run.out.as_json:
        run.out.json(report)
    else:
        _print_report(run, report)
    return NOTHING_FOUND if report.problem is not None or report.consent_needed else DONE


def _print_report(run: Invocation, report: MemoryFileReport) -> None:
    out = run.out
    for what, changes in (
        ("added", report.added),
        ("edited", report.edited),
        ("archived", report.archived),
        ("restored", report.restored),
        ("proposed", report.proposed),
        ("unclear", report.unclear),
    ):
        for change in changes:
            said = one_line(change.content or change.id or "")
            out.line(f"{what:<9} {said}{f' ({change.reason})' if change.reason else ''}")
    if report.problem is not None:
        out.line(f"{report.path} was not changed: {report.problem}")
    elif report.consent_needed:
        out.line(f"{report.path} does not exist; `opencode-memory memory-file --create` creates it.")
    else:
        done = {"written": "is written", "would_write": "would be written", "unchanged": "is up to date"}
        out.line(f"{report.path} {done.get(report.outcome, report.outcome)}: {format_count(report.shown, 'memory')}.")
