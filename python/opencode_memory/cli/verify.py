"""``opencode-memory verify``, ``repair`` and ``reindex``."""

from __future__ import annotations

import time

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.cli.progress import stages
from opencode_memory.store.reports import NOT_CHECKED
from opencode_memory.text.formatting import format_count, format_duration, format_graph


@command("verify")
def verify(run: Invocation) -> int:
    """Check every memory and index. Exits with 1 if there are problems.

    The hash of each text is computed again. The last line of the output names the parts that are not checked.
    """
    with run.open_store() as store:
        report = store.indexes.verify()
    if run.out.as_json:
        run.out.json({"ok": report.ok, "report": report, "not_checked": NOT_CHECKED})
        return DONE if report.ok else NOTHING_FOUND
    for problem in report.problems:
        run.out.line(problem)
    checked = f"{format_count(report.memories, 'memory')}, {format_count(report.lexical_documents, 'indexed text')}"
    checked += format_graph(report.graph_vectors)
    run.out.line(f"Checked {checked}: {'no problems' if report.ok else format_count(len(report.problems), 'problem')}.")
    if report.pending_embeddings:
        waiting = format_count(report.pending_embeddings, "memory")
        run.out.line(f"Not embedded by the current model: {waiting}. Recall finds them by their words.")
    run.out.line(dim(f"Not checked: {', '.join(NOT_CHECKED)}."))
    if report.index_problems:
        run.out.note("hint: `opencode-memory repair` rebuilds damaged indexes from the store; no memory is lost")
    if report.store_problems:
        run.out.note("hint: `opencode-memory repair` rebuilds indexes of SQLite; if problems remain, restore a backup")
        run.out.note("hint: `opencode-memory backup list` shows the backups that can be restored")
    return DONE if report.ok else NOTHING_FOUND


@command("repair")
def repair(run: Invocation) -> int:
    """Rebuild damaged indexes, SQLite's own ones as well. Exits with 1 if problems remain."""
    with run.open_store() as store, stages(quiet=run.out.as_json) as show:
        report = store.indexes.repair(progress=show)
    if run.out.as_json:
        run.out.json({"ok": report.ok, "report": report})
        return DONE if report.ok else NOTHING_FOUND
    if not report.found:
        run.out.line("No damage found.")
    for problem in report.found:
        run.out.line(f"{'Not repaired' if problem in report.remaining else 'Repaired'}: {problem}")
    for problem in report.remaining:
        if problem not in report.found:
            run.out.line(f"Not repaired: {problem}")
    if report.rebuilt is not None:
        rebuilt = f"{format_count(report.rebuilt.texts, 'text')}{format_graph(report.rebuilt.vectors)}"
        run.out.line(f"Rebuilt the indexes: {rebuilt}.")
    return DONE if report.ok else NOTHING_FOUND


@command("reindex")
def reindex(run: Invocation) -> None:
    """Embed memories without vectors or with vectors of another model, and rebuild the indexes."""
    started = time.monotonic()
    with (
        run.open_store(background=False) as store,
        stages(quiet=run.out.as_json, kept="What is embedded is stored. The same command does the rest.") as show,
    ):
        report = store.indexes.reindex(progress=show)
    if run.out.as_json:
        run.out.json(report)
    else:
        indexed = f"{format_count(report.texts, 'text')}{format_graph(report.vectors)}"
        seconds = format_duration(time.monotonic() - started)
        run.out.line(f"Embedded {report.embedded:,}; indexed {indexed}, in {seconds}.")
