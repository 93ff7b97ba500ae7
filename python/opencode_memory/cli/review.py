"""``opencode-memory review``: lets the user accept, edit or reject pending memories."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.cli.output import dim
from opencode_memory.cli.review_screen import decide_each, print_waiting
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.learning.rejections import undo_operation
from opencode_memory.learning.review import accept, list_waiting, reject
from opencode_memory.text.formatting import format_count, short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """Ids to accept or reject; without ids, the command lists the pending memories or asks about each."""

    accept: tuple[str, ...]
    reject: tuple[str, ...]
    everywhere: bool
    look: bool


@command("review")
@click.option("--accept", metavar="ID", multiple=True, help="Accept this memory; may be repeated.")
@click.option(
    "--reject",
    metavar="ID",
    multiple=True,
    help="Reject this memory; may be repeated. It is archived, so restore brings it back.",
)
@click.option("--all-projects", "everywhere", is_flag=True, help="Include every project.")
@click.option("--list", "look", is_flag=True, help="List the pending memories without asking.")
def review(run: Invocation, *, accept: tuple[str, ...], reject: tuple[str, ...], everywhere: bool, look: bool) -> int:
    """Accept, edit or reject pending memories: uncertain learned ones, and directives that you have not confirmed."""
    return run_review(run, ReviewRequest(accept=accept, reject=reject, everywhere=everywhere, look=look))


def run_review(run: Invocation, request: ReviewRequest) -> int:
    """Accept and reject the given memories, or ask about each pending one."""
    with run.open_store() as store:
        if request.accept or request.reject:
            _decide_named(run, store, request)
            return DONE
        waiting = list(list_waiting(store, everywhere=request.everywhere))
        if run.out.as_json:
            run.out.json({"waiting": waiting})
            return DONE
        if not waiting:
            run.out.note("No memory is pending.")
            return DONE
        if request.look or not sys.stdin.isatty():
            for number, memory in enumerate(waiting, start=1):
                print_waiting(run, memory, f"{number:>2}")
            run.out.line(
                dim("Decide with `opencode-memory review --accept ID` or `--reject ID`, or run it in a terminal.")
            )
            return DONE
        done = decide_each(run, store, waiting)
        _print_outcome(run, done.accepted, done.rejected)
    return DONE


def _decide_named(run: Invocation, store: MemoryStore, request: ReviewRequest) -> None:
    """Accept and reject the given memories. Find all of them first, so that a wrong id changes nothing."""
    to_accept = _find(store, request.accept)
    to_reject = _find(store, request.reject)
    if both := to_accept.keys() & to_reject.keys():
        names = ", ".join(map(short_id, sorted(both)))
        raise InvalidInputError(f"--reject: {names} cannot be both accepted and rejected", field="--reject")
    # One undo takes back all decisions of a command.
    writes = store.in_one_operation()
    try:
        # Read each again, because an accepted text may have superseded it just now.
        accepted = [accept(writes, store.get(id_)).id for id_ in to_accept]
        rejected = [archived.id for id_ in to_reject for archived in reject(writes, store.get(id_))]
    except OpencodeMemoryError:
        if writes.operation is not None:
            undo_operation(store, writes.operation)
        raise
    _print_outcome(run, accepted, rejected)


def _find(store: MemoryStore, ids: Sequence[str]) -> dict[str, None]:
    """Return the full ids of memories, each once, in order."""
    return dict.fromkeys(memory.id for memory in map(store.get, ids))


def _print_outcome(run: Invocation, accepted: Sequence[str], rejected: Sequence[str]) -> None:
    if run.out.as_json:
        run.out.json({"accepted": accepted, "rejected": rejected})
        return
    for what, ids in (("accepted", accepted), ("rejected", rejected)):
        if ids:
            run.out.line(f"{what} {format_count(len(ids), 'memory')}: {', '.join(map(short_id, ids))}")
    if not accepted and not rejected:
        run.out.note("No memory was changed.")
