"""``opencode-memory ingest``: learns from OpenCode's sessions, or imports Markdown notes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.memories import print_list
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import PathType
from opencode_memory.cli.progress import embed_pending, progress
from opencode_memory.errors import InvalidInputError
from opencode_memory.text.clock import to_ms
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.hosts.opencode.feed.history_reader import OpenCodeReading, OpenCodeReport
    from opencode_memory.notes.folder import IngestReport
    from opencode_memory.notes.moved import Moved
    from opencode_memory.store.memory_store import MemoryStore

_READ_SO_FAR: Final = "What was read so far is stored. The same command reads the rest."
_OPENCODE: Final = "opencode"
_SHOWN: Final = 20
_LONGEST_FILE: Final = 400
_LONGEST_HEADINGS: Final = 72
_PREFIX: Final = "file:"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """Path of the notes."""

    path: Path
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCodeRequest:
    """Path of OpenCode's database; None for its default location."""

    db: Path | None
    dry_run: bool


@command("ingest")
@click.argument("path", type=PathType())
@click.option(
    "--db",
    type=PathType(dir_okay=False),
    help="OpenCode's database.  [default: its default location]",
)
@click.option("--dry-run", is_flag=True, help="Show the result without writing.")
def ingest(run: Invocation, *, path: Path, db: Path | None, dry_run: bool) -> None:
    """Learn from OpenCode's sessions (`ingest opencode`), or import Markdown notes from PATH.

    `opencode` reads the new messages of all sessions of OpenCode in all projects. Any other PATH is a note or a folder
    of notes (write `./opencode` for a folder of that name), and each section becomes a memory. Run it again to update
    the memories of edited sections and to archive those of deleted sections.
    A section whose file or heading was renamed keeps its memory, also if its text was edited at the same time but is
    still similar.
    """
    if str(path) == _OPENCODE:
        read_opencode(run, OpenCodeRequest(db=db, dry_run=dry_run))
        return
    if db is not None:
        raise InvalidInputError("--db is valid only with `ingest opencode`", field="--db")
    read_notes(run, IngestRequest(path=path, dry_run=dry_run))


def read_opencode(run: Invocation, request: OpenCodeRequest) -> None:
    """Learn from all sessions of OpenCode and print the result."""
    from opencode_memory.exchange.dry_run import rehearsal  # noqa: PLC0415  only here
    from opencode_memory.hosts.opencode.feed.database import default_database  # noqa: PLC0415  only here

    path = request.db or run.config.learning.opencode_db or default_database(run.config.environment)
    if path is None:
        raise InvalidInputError("cannot find OpenCode's database; give its path with --db", field="--db")
    with run.open_unbound_store(actor="extracted", background=False) as store:
        with rehearsal(store) if request.dry_run else nullcontext(store) as target:
            reading = _build_reading(run, target, path)
            if request.dry_run:
                reading.continue_from(store)
            kept = "" if request.dry_run else _READ_SO_FAR
            with progress("reading sessions", quiet=run.out.as_json, kept=kept) as show:
                report = reading.read(at_ms=to_ms(run.started_at), progress=show)
            _print_report(run, target, report, dry_run=request.dry_run)
        if request.dry_run:
            return
        _request_memory_files(run, store, report)
        embed_pending(run, store)


def _build_reading(run: Invocation, store: MemoryStore, path: Path) -> OpenCodeReading:
    from opencode_memory.hosts.opencode.feed.history_reader import OpenCodeReading  # noqa: PLC0415  only here
    from opencode_memory.learning.switches import Switches  # noqa: PLC0415  only here
    from opencode_memory.projects.resolver import ProjectResolver  # noqa: PLC0415  only here

    # Treat every session as idle (rest_ms=0), because no later message will complete a candidate of this run.
    switches = Switches(
        skip_projects=run.config.learning.skip_projects, languages=frozenset(run.config.learning.languages)
    )
    projects = ProjectResolver(store, run.config.environment)
    return OpenCodeReading(store, path, projects=projects, switches=switches, rest_ms=0, is_requested=True)


def _request_memory_files(run: Invocation, store: MemoryStore, report: OpenCodeReport) -> None:
    from opencode_memory.config.sections import MemoryFile  # noqa: PLC0415  only here
    from opencode_memory.worker.learning_duties import enqueue_memory_file  # noqa: PLC0415  only here

    if run.config.memory_file is not MemoryFile.OFF:
        for folder, project in report.folders:
            enqueue_memory_file(store, folder, project)


def _print_report(run: Invocation, store: MemoryStore, report: OpenCodeReport, *, dry_run: bool) -> None:
    out = run.out
    if out.as_json:
        out.json(report)
        return
    memories = [store.get(id_) for id_ in report.active]
    shown = [memory for memory in memories if memory.category != "conversation"]
    print_list(out, shown[:_SHOWN], at=run.started_at, with_project=True)
    if len(shown) > _SHOWN:
        out.line(dim(f"… and {len(shown) - _SHOWN} more"))
    learned = f"{format_count(len(shown), 'memory')} and {format_count(len(memories) - len(shown), 'summary')}"
    waiting = f"; {len(report.waiting)} pending in `opencode-memory review`" if report.waiting else ""
    read = f"{format_count(report.sessions, 'session')} with new messages, {format_count(report.messages, 'message')}"
    out.line(f"{read}: {learned}{waiting}.{' Nothing was written.' if dry_run else ''}")


def read_notes(run: Invocation, request: IngestRequest) -> None:
    """Synchronize memories with notes and print the result."""
    from opencode_memory.notes.folder import ingest as ingest_notes  # noqa: PLC0415  only here

    with run.open_store(creates_project=not request.dry_run, background=False) as store:
        kept = "" if request.dry_run else _READ_SO_FAR
        with progress("reading", quiet=run.out.as_json, kept=kept) as show:
            report = ingest_notes(store, request.path, top=run.work_tree, dry_run=request.dry_run, progress=show)
        _print_notes(run, report, dry_run=request.dry_run)
        if not request.dry_run:
            embed_pending(run, store)


def _print_notes(run: Invocation, report: IngestReport, *, dry_run: bool) -> None:
    if run.out.as_json:
        run.out.json(report)
        return
    lines = _describe_moves(report.moved)
    for line in lines[:_SHOWN]:
        run.out.line(line)
    if len(lines) > _SHOWN:
        run.out.line(dim(f"… and {len(lines) - _SHOWN} more"))
    for skipped in report.skipped:
        run.out.note(f"skipped {skipped.file}: {skipped.reason}")
    changes = {
        "added": report.added,
        "updated": report.updated,
        "moved": len(report.moved),
        "archived": report.archived,
        "unchanged": report.unchanged,
    }
    summary = ", ".join(f"{number:,} {what}" for what, number in changes.items() if number) or "nothing to read"
    run.out.line(f"{format_count(report.files, 'note')}: {summary}.{' Nothing was written.' if dry_run else ''}")


def _describe_moves(moved: Sequence[Moved]) -> list[str]:
    """Return a line for each renamed file with the number of its sections, and one for each renamed heading."""
    lines: dict[str, list[Moved]] = {}
    for one in moved:
        (old, old_headings), (new, new_headings) = (_split_place(topic) for topic in (one.old, one.new))
        if one.old.partition("#")[2] != one.new.partition("#")[2]:
            old, new = f"{old} # {old_headings}", f"{new} # {new_headings}"
        lines.setdefault(f"moved {old} → {new}", []).append(one)
    return [f"{line}: {_describe_sections(ones)}" for line, ones in lines.items()]


def _describe_sections(moved: Sequence[Moved]) -> str:
    edited = sum(one.edited for one in moved)
    return format_count(len(moved), "section") + (f", {edited:,} edited" if edited else "")


def _split_place(topic: str) -> tuple[str, str]:
    """Return the file and the headings of a section, each on one line."""
    file, _, headings = topic.removeprefix(_PREFIX).partition("#")
    return one_line(file, _LONGEST_FILE), one_line(headings, _LONGEST_HEADINGS)
