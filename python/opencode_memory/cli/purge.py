"""``opencode-memory purge``."""

from __future__ import annotations

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import confirm, ids_argument, yes_option
from opencode_memory.learning.rejections import reject_learned
from opencode_memory.text.formatting import format_count


@command("purge")
@ids_argument
@yes_option
def purge(run: Invocation, *, ids: tuple[str, ...], yes: bool) -> int:
    """Erase memories permanently: text, history, embeddings and index entries. This cannot be undone."""
    if not confirm(f"Erase {format_count(len(ids), 'memory')} permanently", yes=yes):
        return NOTHING_FOUND
    with run.open_store() as store:
        reject_learned(store, ids)
        report = store.purge(ids)
    if run.out.as_json:
        run.out.json(report)
        return DONE
    run.out.line(f"Erased {format_count(report.memories, 'memory')}.")
    for backup in report.backups:
        run.out.line(f"Still contained in the backup {backup}")
    for problem in report.problems:
        run.out.line(f"Not erased: {problem}")
    return DONE
