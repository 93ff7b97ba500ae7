"""``opencode-memory resolve``: marks a blocker as resolved."""

from __future__ import annotations

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import id_argument
from opencode_memory.maintenance import blockers
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id


@command("resolve")
@id_argument
@click.argument("how", nargs=-1, metavar="[HOW]...")
@click.option("--reopen", is_flag=True, help="Make a resolved blocker a blocker again.")
def resolve(run: Invocation, *, id: str, how: tuple[str, ...], reopen: bool) -> None:
    """Mark a blocker as resolved, and say HOW. It is then no longer shown as open."""
    if reopen and how:
        raise click.UsageError("HOW is not valid with --reopen", click.get_current_context())
    with run.open_store() as store:
        memory = store.get(id)
        blockers.check(memory, hint=f"opencode-memory edit {id} --category blocker")
        if reopen:
            changed = blockers.reopen(store, memory)
        else:
            changed = blockers.resolve(store, memory, " ".join(how) or None, at=run.started_at) or memory
    if run.out.as_json:
        run.out.json({"memory": changed})
    else:
        done = "Reopened" if reopen else "Resolved"
        run.out.line(f"{done}. ", one_line(changed.content, 80), dim(f"  {short_id(changed.id)}"))
