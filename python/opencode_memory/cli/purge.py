"""``opencode-memory purge``."""

from __future__ import annotations

from dataclasses import fields, replace

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import confirm, ids_argument, yes_option
from opencode_memory.learning.rejections import rejecting
from opencode_memory.text.formatting import format_count


@command("purge")
@ids_argument
@yes_option
def purge(run: Invocation, *, ids: tuple[str, ...], yes: bool) -> int:
    """Erase memories permanently: text, history, embeddings, index entries and their files. This cannot be undone.

    Exits with 1 if a backup or another file still contains the text.
    """
    # The command line starts faster without it.
    from opencode_memory.memory_file.purged import take_out  # noqa: PLC0415
    from opencode_memory.mirror import find_texts, remove_purged  # noqa: PLC0415

    if not confirm(f"Erase {format_count(len(ids), 'memory')} permanently", yes=yes):
        return NOTHING_FOUND
    with run.open_store() as store:
        memories = find_texts(store, ids)
        with rejecting(store, ids):
            files = remove_purged(store, memories, at=run.started_at, environment=run.config.environment)
            report = store.purge(ids)
        # An ended process leaves the rest to the next synchronization, which removes bullets of unknown memories.
        texts = {id_: one.texts for id_, one in memories.items()}
        cleaned = take_out(store, texts, at=run.started_at, environment=run.config.environment)
    report = replace(report, problems=(*report.problems, *files.problems, *cleaned.problems))
    is_complete = not report.problems and not report.backups
    if run.out.as_json:
        run.out.json(
            {
                **{one.name: getattr(report, one.name) for one in fields(report)},
                "files": (*files.removed, *cleaned.changed),
                "complete": is_complete,
            }
        )
        return DONE if is_complete else NOTHING_FOUND
    run.out.line(f"Erased {format_count(report.memories, 'memory')}.")
    for file in files.removed:
        run.out.line(f"Removed {file}")
    for file in cleaned.changed:
        run.out.line(f"Removed from {file}")
    for backup in report.backups:
        run.out.line(f"Still contained in the backup {backup}")
    for problem in report.problems:
        run.out.line(f"Not erased: {problem}")
    return DONE if is_complete else NOTHING_FOUND
