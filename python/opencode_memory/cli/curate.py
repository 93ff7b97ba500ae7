"""``opencode-memory pin``, ``unpin``, ``archive``, ``restore`` and ``delete``: reversible changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import ids_argument
from opencode_memory.learning.rejections import rejecting, withdraw_rejection
from opencode_memory.models import Memory
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import short_id


@command("pin")
@ids_argument
def pin(run: Invocation, *, ids: tuple[str, ...]) -> None:
    """Pin memories, so that they rank first when they are relevant."""
    with run.open_store() as store:
        done = store.pin(ids)
    _print_outcome(run, "pinned", [memory.id for memory in done])
    name_expired(run, done)


@command("unpin")
@ids_argument
def unpin(run: Invocation, *, ids: tuple[str, ...]) -> None:
    """Remove the pin from memories."""
    with run.open_store() as store:
        done = [memory.id for memory in store.unpin(ids)]
    _print_outcome(run, "unpinned", done)


@command("archive")
@ids_argument
@click.option("--reason", help="Reason, for the history.")
def archive(run: Invocation, *, ids: tuple[str, ...], reason: str | None) -> None:
    """Hide memories from recall; restore brings them back."""
    with run.open_store() as store, rejecting(store, ids):
        done = [memory.id for memory in store.archive(ids, reason=reason)]
    _print_outcome(run, "archived", done)


@command("restore")
@ids_argument
def restore(run: Invocation, *, ids: tuple[str, ...]) -> None:
    """Restore archived or superseded memories, or accept candidates."""
    with run.open_store() as store:
        restored = store.restore(ids)
        withdraw_rejection(store, *restored)
    _print_outcome(run, "restored", [memory.id for memory in restored])
    name_expired(run, restored)


@command("delete")
@ids_argument
def delete(run: Invocation, *, ids: tuple[str, ...]) -> None:
    """Delete memories. Undo restores them for 30 days; purge erases them at once."""
    with run.open_store() as store, rejecting(store, ids):
        done = store.delete(ids)
    _print_outcome(run, "deleted", done)


def name_expired(run: Invocation, memories: Iterable[Memory]) -> None:
    """Say which of the changed memories have expired, because the change does not show them again."""
    for memory in memories:
        if memory.expires_at is not None and memory.is_expired(run.started_at) and not run.out.as_json:
            run.out.note(
                f"{short_id(memory.id)} expired {age(memory.expires_at, at=run.started_at)}, so no recall shows it. "
                f"Keep it with opencode-memory edit {short_id(memory.id)} --expires none."
            )


def _print_outcome(run: Invocation, what: str, ids: Sequence[str]) -> None:
    if run.out.as_json:
        run.out.json({what: list(ids)})
    else:
        run.out.line(f"{what.capitalize()}: ", dim(", ".join(map(short_id, ids)) or "nothing"))
