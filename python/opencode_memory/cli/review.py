"""``opencode-memory review``: lets the user accept, edit or reject pending memories."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import format_facts
from opencode_memory.cli.output import bold, dim
from opencode_memory.learning.review import accept, list_waiting, reject
from opencode_memory.models import Memory, ScopeKind
from opencode_memory.text.formatting import format_count, short_id

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_LINES: Final = 8
_CHOICES: Final = {"a": "accept", "e": "edit", "r": "reject", "s": "skip", "q": "quit"}


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
            accepted = [accept(store, store.get(id_)).id for id_ in request.accept]
            rejected = [memory.id for id_ in request.reject for memory in reject(store, store.get(id_))]
            _print_outcome(run, accepted, rejected)
            return DONE
        waiting = list(list_waiting(store, everywhere=request.everywhere))
        if run.out.as_json:
            run.out.json({"waiting": waiting})
            return DONE if waiting else NOTHING_FOUND
        if not waiting:
            run.out.note("No memory is pending.")
            return NOTHING_FOUND
        if request.look or not sys.stdin.isatty():
            for number, memory in enumerate(waiting, start=1):
                _print_memory(run, memory, f"{number:>2}")
            run.out.line(
                dim("Decide with `opencode-memory review --accept ID` or `--reject ID`, or run it in a terminal.")
            )
            return DONE
        _ask_about_each(run, store, waiting)
    return DONE


def _ask_about_each(run: Invocation, store: MemoryStore, waiting: Sequence[Memory]) -> None:
    accepted, rejected = [], []
    for number, memory in enumerate(waiting, start=1):
        _print_memory(run, memory, f"{number} of {len(waiting)}")
        answer = click.prompt(
            "(a)ccept, (e)dit, (r)eject, (s)kip, (q)uit",
            type=click.Choice([*_CHOICES, *_CHOICES.values()]),
            show_choices=False,
            default="s",
            err=True,
        )
        choice = _CHOICES.get(answer, answer)
        if choice == "quit":
            break
        if choice == "accept":
            accepted.append(accept(store, memory).id)
        elif choice == "edit":
            text = click.edit(memory.content)
            if text is not None and text.strip():
                accepted.append(accept(store, memory, text.strip()).id)
            else:
                run.out.note("Not changed.")
        elif choice == "reject":
            rejected += [archived.id for archived in reject(store, memory)]
    _print_outcome(run, accepted, rejected)


def _print_memory(run: Invocation, memory: Memory, number: str) -> None:
    where = "" if memory.scope is ScopeKind.GLOBAL or run.config.project == memory.project else " "
    run.out.line(bold(f"{number}{where} "), dim(format_facts(memory, at=run.started_at)))
    run.out.excerpt(memory.content, indent="    ", lines=_LINES)
    evidence, rule = memory.metadata.get("evidence"), memory.metadata.get("rule")
    if isinstance(evidence, str) and evidence.strip() and evidence.strip() != memory.content.strip():
        run.out.excerpt(f"said: {evidence}", indent="    ", lines=2)
    if isinstance(rule, str):
        sure = "" if memory.confidence is None else f", confidence {memory.confidence:.2f}"
        run.out.line(dim(f"    because of: {rule}{sure}"))


def _print_outcome(run: Invocation, accepted: Sequence[str], rejected: Sequence[str]) -> None:
    if run.out.as_json:
        run.out.json({"accepted": accepted, "rejected": rejected})
        return
    for what, ids in (("accepted", accepted), ("rejected", rejected)):
        if ids:
            run.out.line(f"{what} {format_count(len(ids), 'memory')}: {', '.join(map(short_id, ids))}")
    if not accepted and not rejected:
        run.out.note("No memory was changed.")
