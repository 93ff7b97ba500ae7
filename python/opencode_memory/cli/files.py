"""``opencode-memory files``: memories as one Markdown file each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import ids_argument
from opencode_memory.config.sections import Files
from opencode_memory.errors import InvalidInputError
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.mirror import MirrorReport, Place
    from opencode_memory.store.memory_store import MemoryStore

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """How to synchronize: without writing, with all changes as the user's own, or with files of others rewritten."""

    dry_run: bool
    mine: bool = False
    rewrite: bool = False


@command("status")
def status(run: Invocation) -> int:
    """Show where the files are, and what a synchronization would change."""
    return sync_files(run, SyncRequest(dry_run=True))


@command("sync")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing.")
@click.option("--mine", is_flag=True, help="All changes of the files are yours, also those that came with git.")
@click.option("--rewrite", is_flag=True, help="Write also files that are kept as another author left them.")
def sync(run: Invocation, *, dry_run: bool, mine: bool, rewrite: bool) -> int:
    """Apply your changes of the files to the memories, and write the files that differ.

    A running server does this within seconds.
    """
    return sync_files(run, SyncRequest(dry_run=dry_run, mine=mine, rewrite=rewrite))


@command("share")
@ids_argument
def share(run: Invocation, *, ids: tuple[str, ...]) -> None:
    """Write memories into .opencode/memory/team of this project's repository.

    Commit the files to share them. The memories of your team mates wait for review.
    """
    share_memories(run, ids)


files: Final = Group(
    "files",
    help="Keep memories as one Markdown file each, in ~/.opencode/memory and in .opencode/memory of a project.",
    commands=[status, sync],
)


def sync_files(run: Invocation, request: SyncRequest) -> int:
    """Synchronize the folders of the global memories and of this project, as far as the settings say so."""
    if run.config.files is Files.OFF:
        if run.out.as_json:
            run.out.json({"files": run.config.files, "folders": []})
        else:
            run.out.line("No memories are kept as files. `opencode-memory config set files both` turns them on.")
        return NOTHING_FOUND
    with run.open_store(creates_project=not request.dry_run) as store:
        reports = [_sync_place(run, store, place, request) for place in _places(run, store)]
    if run.out.as_json:
        run.out.json({"files": run.config.files, "folders": reports})
    else:
        for report in reports:
            _print_report(run, report)
        if not reports:
            run.out.line("This folder does not belong to a project in a repository, so it has no files.")
    return NOTHING_FOUND if not reports or any(report.problem is not None for report in reports) else DONE


def share_memories(run: Invocation, ids: tuple[str, ...]) -> None:
    """Share memories, and print their files."""
    from opencode_memory.mirror import project_place  # noqa: PLC0415  only here
    from opencode_memory.mirror import share as write_shared  # noqa: PLC0415  only here

    with run.open_store() as store:
        run.check_files_belong(store)
        place = None if store.project is None else project_place(run.folder, store.project, run.config.environment)
        if place is None:
            raise InvalidInputError("this folder does not belong to a project in a repository", field="--dir")
        paths = [write_shared(store, place, id_, at=run.started_at) for id_ in ids]
    if run.out.as_json:
        run.out.json({"files": paths})
        return
    for path in paths:
        run.out.line(f"Shared in {path}; commit it.")


def _places(run: Invocation, store: MemoryStore) -> Iterator[Place]:
    from opencode_memory.mirror import global_place, project_place, shows_global, shows_projects  # noqa: PLC0415

    if shows_projects(run.config.files):
        run.check_files_belong(store)
    environment = run.config.environment
    place = global_place(environment) if shows_global(run.config.files) else None
    if place is not None:
        yield place
    if shows_projects(run.config.files) and store.project is not None:
        place = project_place(run.folder, store.project, environment)
        if place is not None:
            yield place


def _sync_place(run: Invocation, store: MemoryStore, place: Place, request: SyncRequest) -> MirrorReport:
    from opencode_memory.memory_file import ChangedBy  # noqa: PLC0415  only here
    from opencode_memory.mirror import sync as synchronize  # noqa: PLC0415  only here
    from opencode_memory.mirror.place import MOST_FILES  # noqa: PLC0415  only here

    return synchronize(
        store,
        place,
        at=run.started_at,
        dry_run=request.dry_run,
        changed_by=ChangedBy.PERSON if request.mine else None,
        rewrites=request.rewrite,
        most_files=MOST_FILES,
        environment=run.config.environment,
    )


def _print_report(run: Invocation, report: MirrorReport) -> None:
    out = run.out
    whose = "global" if report.project is None else f"of {report.project}"
    applied, proposed = ("to apply", "to review") if report.dry_run else ("applied", "proposed")
    for what, changes in ((applied, report.applied), (proposed, report.proposed), ("unclear", report.unclear)):
        for change in changes[:_MOST_NAMED]:
            out.line(f"{what:<9} {change.kind:<8} {change.name}{f' ({change.reason})' if change.reason else ''}")
        if len(changes) > _MOST_NAMED:
            out.line(f"{what:<9} … and {format_count(len(changes) - _MOST_NAMED, 'more file')}")
    for line in _next_steps(report):
        out.line(line)
    if report.problem is not None:
        out.line(report.problem)
        return
    verb = "would be " if report.dry_run else ""
    done = f"{format_count(len(report.written), 'file')} {verb}written, {len(report.removed)} {verb}removed"
    out.line(f"{report.path}: {format_count(report.shown, 'memory')} ({whose}); {done}.")


def _next_steps(report: MirrorReport) -> Iterator[str]:
    """Yield what the user can do about changes that were not applied."""
    from opencode_memory.mirror import Kind  # noqa: PLC0415  the command line starts faster without it

    sync = "`opencode-memory files sync"
    if any(not change.reason for change in report.proposed):
        wait = "would wait" if report.dry_run else "wait"
        yield f"New texts {wait} for `opencode-memory review`. If they are yours, {sync} --mine` applies them."
    if any(change.reason and change.kind is not Kind.DELETE for change in report.proposed):
        yield f"Changes with a reason were not applied. If they are yours, {sync} --mine` applies them."
    if report.missing:
        names = ", ".join(report.missing[:_MOST_NAMED])
        more = len(report.missing) - _MOST_NAMED
        yield f"Deleted, but {_still_active(len(report.missing))}: {names}{f' and {more:,} more' if more > 0 else ''}"
        yield f"{sync} --mine` archives what was deleted, {sync} --rewrite` writes the files again."


def _still_active(files: int) -> str:
    return "its memory is still active" if files == 1 else "their memories are still active"
