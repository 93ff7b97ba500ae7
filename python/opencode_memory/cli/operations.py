"""``opencode-memory log``, ``undo`` and ``redo``: what was changed together, by whom, and its way back.

Without options they concern the changes that the user made in this project. What was learned in the background and what
agents wrote is never taken back by accident.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import click

from opencode_memory.cli.changed_fields import describe_changed_fields
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import confirm, yes_option
from opencode_memory.errors import NotFoundError
from opencode_memory.learning import rejections
from opencode_memory.models import HistoryEntry, Operation, Trust
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.store.operations import Rest, describe_rest, rest_data
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id

_ASKS_ABOVE: Final = 10
_MOST_PRINTED: Final = 10
_LONGEST_TEXT: Final = 72
_MOST: Final = 1_000
_DONE: Final = {
    "create": "stored",
    "edit": "edited",
    "merge": "merged",
    "combine": "merged",
    "update": "updated",
    "supersede": "replaced",
    "archive": "archived",
    "upkeep": "put away by age or as a duplicate",
    "restore": "restored",
    "delete": "deleted",
    "pin": "pinned",
    "unpin": "unpinned",
    "move": "moved",
}
_all_option = click.option("--all", "everything", is_flag=True, help="Also changes by agents and in other projects.")
_operation_option = click.option(
    "--operation", type=click.IntRange(1), metavar="NUMBER", help="An operation; `log` shows the numbers."
)
_dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would be done.")


@command("log", is_paged=True)
@_all_option
@click.option(
    "-n", "--limit", type=click.IntRange(1, _MOST), default=20, show_default=True, help="Maximum number of operations."
)
def log(run: Invocation, *, everything: bool, limit: int) -> int:
    """List what you changed in this project, the newest first; changes that were made together have one number."""
    with run.open_store() as store:
        found = _list(run, store, everything=everything, limit=limit)
    if run.out.as_json:
        run.out.json({"operations": found})
    elif found:
        rows = [
            (
                str(one.operation),
                age(one.at, at=run.started_at),
                _name_writer(one),
                f"{_describe(one)}{' (undone)' if one.undone else ''}",
                _text_of(one),
            )
            for one in found
        ]
        run.out.table(rows)
    else:
        run.out.note(
            "Nobody has changed anything in this store."
            if everything
            else "You have changed nothing in this project. --all lists changes of agents and in other projects, too."
        )
    return DONE


@command("undo")
@click.argument("id", metavar="[ID]", required=False)
@_operation_option
@_all_option
@_dry_run_option
@yes_option
def undo(run: Invocation, *, id: str | None, operation: int | None, everything: bool, dry_run: bool, yes: bool) -> int:
    """Undo the last change that you made in this project, or the last change of the memory ID."""
    if id is not None and (operation is not None or everything):
        raise click.UsageError("ID goes neither with --operation nor with --all", click.get_current_context())
    with run.open_store() as store:
        if id is not None:
            if dry_run:
                changes = store.operations.preview_undo(id)
                return _preview(run, changes, store.operations.count_rest(changes, is_done=False))
            undone = rejections.undo(store, id)
            rest = store.operations.count_rest(undone)
        else:
            rest = {}  # All of an operation is undone.
            found = _find(run, store, operation, undone=False, everything=everything)
            if not _is_agreed(run, found, "Undo", dry_run=dry_run, yes=yes):
                return DONE if dry_run else NOTHING_FOUND
            undone = rejections.undo_operation(store, found.operation)
    _print_turned(run, "undone", undone, rest)
    return DONE


@command("redo")
@_operation_option
@_all_option
@_dry_run_option
@yes_option
def redo(run: Invocation, *, operation: int | None, everything: bool, dry_run: bool, yes: bool) -> int:
    """Bring back the change that you undid last in this project."""
    with run.open_store() as store:
        found = _find(run, store, operation, undone=True, everything=everything)
        if not _is_agreed(run, found, "Redo", dry_run=dry_run, yes=yes):
            return DONE if dry_run else NOTHING_FOUND
        redone = rejections.redo_operation(store, found)
    _print_turned(run, "redone", redone, {})
    return DONE


def _list(
    run: Invocation, store: MemoryStore, *, everything: bool, undone: bool | None = None, limit: int = 1
) -> Sequence[Operation]:
    # A folder that the store does not know yet has changes of global memories only, not those of all projects.
    project, actor = (None, None) if everything else (store.project or run.name_project(store), Trust.USER)
    # `undo` takes back changes of users and agents. Only `--operation` takes back what the program changed by itself.
    return store.operations.list(
        project=project, actor=actor, with_upkeep=undone is not False, undone=undone, limit=limit
    )


def _find(run: Invocation, store: MemoryStore, number: int | None, *, undone: bool, everything: bool) -> Operation:
    """Return the operation with a number, or else the last one of the user.

    Raises:
        NotFoundError: There is none.
    """
    if number is None:
        found = _list(run, store, everything=everything, undone=undone)
        if found:
            return found[0]
        what = "undone" if undone else "changed"
        if everything:
            raise NotFoundError(f"this store has no {'undo to take back' if undone else 'change to undo'}", id="")
        error = NotFoundError(f"you have {what} nothing in this project", id="")
        error.hint = "`opencode-memory log --all` lists changes of agents and in other projects, --all takes them, too"
        raise error
    found = store.operations.list(before=number + 1, limit=1)
    if found and found[0].operation == number and found[0].undone is undone:
        return found[0]
    error = NotFoundError(f"there is no operation {number} to {'bring back' if undone else 'undo'}", id=str(number))
    error.hint = "opencode-memory log --all"
    raise error


def _is_agreed(run: Invocation, found: Operation, what: str, *, dry_run: bool, yes: bool) -> bool:
    """Show an operation, and ask if it is large. Return whether it is to be turned."""
    if dry_run and run.out.as_json:
        run.out.json({"operation": found})
        return False
    if not run.out.as_json:
        who = _name_writer(found)
        run.out.line(
            f"{what} operation {found.operation}, {age(found.at, at=run.started_at)} by {who}: {_describe(found)}"
        )
        for change in found.changes:
            run.out.line("  ", dim(short_id(change.id)), f" {_text(change)}")
        if (more := found.size - len(found.changes)) > 0:
            run.out.line(f"  … and {more:,} more")
    if dry_run:
        return False
    return found.size <= _ASKS_ABOVE or confirm(f"{what} {format_count(found.size, 'change')}", yes=yes)


def _print_rest(run: Invocation, rest: Rest) -> None:
    for line in describe_rest(rest):
        run.out.line(line)


def _preview(run: Invocation, changes: Sequence[HistoryEntry], rest: Rest) -> int:
    """Show the changes that would be undone."""
    if run.out.as_json:
        run.out.json({"changes": changes, "rest": rest_data(rest)})
        return DONE
    run.out.line("Would be undone:")
    for change in changes:
        by = f"{change.kind}, {age(change.at, at=run.started_at)} by {change.actor.writer}"
        run.out.line("  ", dim(short_id(change.id)), f" {by}: {_text(change)}")
    _print_rest(run, rest)
    return DONE


def _name_writer(operation: Operation) -> str:
    """Name the author of an operation. Upkeep has the writer of its process, although no writer asked for it."""
    is_upkeep = all(kind.startswith("upkeep:") for kind, _ in operation.kinds)
    return "program" if is_upkeep else operation.actor.writer


def _describe(operation: Operation) -> str:
    counts: Counter[str] = Counter()
    for kind, count in operation.kinds:
        # Each reason is a kind of its own.
        counts[_DONE.get(kind.split(":")[0], kind)] += count
    return ", ".join(f"{done} {count:,}" for done, count in counts.items())


def _text_of(operation: Operation) -> str:
    more = f" … and {operation.size - 1:,} more" if operation.size > 1 else ""
    return f"{_text(operation.changes[0])}{more}" if operation.changes else ""


def _text(change: HistoryEntry) -> str:
    memory = change.after or change.before
    text = one_line(memory.content, _LONGEST_TEXT) if memory is not None else "a text that is gone"
    return " · ".join(filter(None, (describe_changed_fields(change), text)))


def _print_turned(run: Invocation, word: str, changes: Sequence[HistoryEntry], rest: Rest) -> None:
    if run.out.as_json:
        run.out.json({word: changes, "rest": rest_data(rest)})
        return
    # A redo knows the undos that it has taken back, which all have the same kind.
    turned = [(f"{change.kind} " if word == "undone" else "", short_id(change.id)) for change in changes]
    turned = [*dict.fromkeys(turned)]
    for kind, id_ in turned[:_MOST_PRINTED]:
        run.out.line(f"{word.capitalize()}: {kind}", dim(id_))
    if len(turned) > _MOST_PRINTED:
        run.out.line(f"… and {len(turned) - _MOST_PRINTED:,} more")
    _print_rest(run, rest)
