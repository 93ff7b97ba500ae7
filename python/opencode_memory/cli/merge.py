"""``opencode-memory merge``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.editor import edit_text, keep_if_refused
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import ids_argument
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.models import Memory, Status
from opencode_memory.text.formatting import short_id


@command("merge")
@ids_argument
@click.option("--text", metavar="TEXT", help="The new text.  [default: write it in $EDITOR]")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def merge(run: Invocation, *, ids: tuple[str, ...], text: str | None, dry_run: bool) -> None:
    """Merge memories into the first one, which gets a new text; the others are superseded. Undo takes it back."""
    with run.open_store() as store:
        memories = [store.get(id_) for id_ in dict.fromkeys(ids)]
        first, *others = memories
        edited: str | None = None
        if not others:
            raise InvalidInputError("ids: two or more different memories are needed", field="ids")
        _check(memories)
        if text is None and not dry_run:
            contents = "\n".join(memory.content for memory in memories)
            text = edited = edit_text(contents, field="--text", instead="give the new text with --text TEXT")
            if text is None or not text.strip():
                raise InvalidInputError("text: nothing was saved in the editor, so nothing is merged", field="--text")
        if not dry_run and text is not None:
            with keep_if_refused(edited):
                first = store.merge([memory.id for memory in memories], text.strip())
    if run.out.as_json:
        run.out.json({"memory": first, "superseded": [memory.id for memory in others], "dry_run": dry_run})
        return
    names = dim(", ".join(short_id(memory.id) for memory in others))
    run.out.line("Would be merged into " if dry_run else "Merged into ", dim(short_id(first.id)), ": ", names)


def _check(memories: Sequence[Memory]) -> None:
    """Refuse what the engine would refuse, before the editor opens, and in a dry run."""
    for memory in memories:
        if memory.status is not Status.ACTIVE:
            raise ConflictError(f"memory {short_id(memory.id)} cannot be merged: it is {memory.status}, not active")
        if memory.project != memories[0].project:
            own, other = (one.project or "every project" for one in (memory, memories[0]))
            raise ConflictError(
                f"memory {short_id(memory.id)} cannot be merged: it belongs to {own}, and the first one to {other}"
            )
