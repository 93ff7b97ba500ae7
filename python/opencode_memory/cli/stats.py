"""``opencode-memory stats``."""

from __future__ import annotations

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import bold, dim
from opencode_memory.text.formatting import format_count


@command("stats")
def stats(run: Invocation) -> None:
    """Show counts and sizes of the store, and the state of its indexes."""
    with run.open_store() as store:
        found = store.stats()
        project = store.project
        turns = store.turns.counts()
        here = store.count(scope="project") if project is not None else 0
    if run.out.as_json:
        run.out.json({"project": {"name": project, "memories": here}, "store": found, "sessions": turns})
        return
    out = run.out
    out.line(
        bold(format_count(found.memories, "memory")),
        f" in {format_count(found.projects, 'project')}; {format_count(found.kv, 'value')}",
    )
    if project is not None:
        out.line(f"{here} of them active in {project}")
    for title, counts in (("status", found.by_status), ("category", found.by_category)):
        shown = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        if shown:
            out.line(dim(f"{title:<11}"), shown)
    out.line(dim(f"{'model':<11}"), found.model or "none yet")
    out.line(dim(f"{'pending':<11}"), f"{found.pending_embeddings} to embed, {found.lexical_tail} to index")
    if turns.turns:
        indexed = f"{format_count(turns.turns, 'turn')} of {format_count(turns.sessions, 'session')} can be searched"
        out.line(dim(f"{'sessions':<11}"), indexed)
    megabytes = (found.store_bytes + found.lexical_bytes + found.graph_bytes) / 1e6
    out.line(dim(f"{'size':<11}"), f"{megabytes:,.1f} MB in {found.data_dir}")
    if found.model_mismatch is not None:
        out.line(found.model_mismatch)
