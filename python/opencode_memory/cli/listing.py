"""``opencode-memory list``, ``show`` and ``history``: the commands that print memories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.changed_fields import describe_changed_fields
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.cli.memories import find_foreign_hint, format_facts, print_list, print_memory, print_turn
from opencode_memory.cli.output import bold, dim
from opencode_memory.cli.parameters import (
    Period,
    all_projects_option,
    categories_option,
    id_argument,
    ids_argument,
    limit_option,
    parse_period,
    period_options,
    scope_option,
)
from opencode_memory.context.later_words import list_later
from opencode_memory.context.session_results import turn_data
from opencode_memory.errors import NotFoundError
from opencode_memory.models import Category, HistoryEntry, Status, Turn
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import short_id
from opencode_memory.text.line_diff import compare_lines

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

MESSAGE: Final = "msg_"
"""Prefix of the ids of OpenCode's messages."""
_AROUND: Final = 2
_MOST_LATER: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Filters and page of a list of memories."""

    categories: tuple[Category, ...]
    scope: str | None
    statuses: tuple[str, ...]
    tag: str | None
    period: Period
    limit: int
    offset: int
    all_projects: bool


@command("list", is_paged=True)
@categories_option
@scope_option
@click.option(
    "--status",
    "statuses",
    type=click.Choice([status.value for status in Status]),
    multiple=True,
    help="Only memories of this status; may be repeated.  [default: active]",
)
@click.option("-t", "--tag", help="Only memories with this label.")
@period_options
@limit_option(50)
@click.option("--offset", type=click.IntRange(0), default=0, help="Skip this number of results.  [default: 0]")
@all_projects_option
def list_memories(
    run: Invocation,
    *,
    categories: tuple[Category, ...],
    scope: str | None,
    statuses: tuple[str, ...],
    tag: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    offset: int,
    all_projects: bool,
) -> int:
    """List memories, newest first."""
    request = ListRequest(
        categories=categories,
        scope=scope,
        statuses=statuses,
        tag=tag,
        period=parse_period(since, until, at=run.started_at),
        limit=limit,
        offset=offset,
        all_projects=all_projects,
    )
    return print_memories(run, request)


def print_memories(run: Invocation, request: ListRequest) -> int:
    """Print the memories."""
    with run.open_store() as store:
        memories = store.list(
            project=run.select_project(store, request.scope, all_projects=request.all_projects),
            scope=request.scope,
            category=request.categories or None,
            status=request.statuses or Status.ACTIVE,
            since=request.period.since,
            until=request.period.until,
            tag=request.tag,
            limit=request.limit,
            offset=request.offset,
        )
        hint = None if memories else find_foreign_hint(store, all_projects=request.all_projects)
    if run.out.as_json:
        run.out.json({"memories": memories})
    elif memories:
        print_list(run.out, memories, at=run.started_at, with_project=request.all_projects)
        if len(memories) == request.limit:
            run.out.note(dim(f"There may be more: --offset {request.offset + request.limit}"))
    else:
        run.out.note("Nothing found." if hint is None else f"Nothing found. {hint}")
    return DONE


@command("show", is_paged=True)
@ids_argument
@click.option("--related", is_flag=True, help="Also show related memories.")
def show(run: Invocation, *, ids: tuple[str, ...], related: bool) -> None:
    """Show memories with all their fields. The last 6 or more characters of an ID are enough.

    The ID of a message (msg_…) shows that turn of a session, with the turns around it.
    """
    with run.open_store() as store:
        messages = [id_ for id_ in ids if id_.startswith(MESSAGE)]
        turns = [turn for message in messages for turn in find_around(store, message)]
        memories = [store.get(id_) for id_ in ids if not id_.startswith(MESSAGE)]
        neighbours = {memory.id: store.related(memory.id) if related else [] for memory in memories}
        later = {memory.id: list_later(store, memory)[:_MOST_LATER] for memory in memories}
    if run.out.as_json:
        shown = [{"memory": memory, "related": neighbours[memory.id]} if related else memory for memory in memories]
        run.out.json({"memories": shown} | ({"turns": [turn_data(turn) for turn in turns]} if turns else {}))
        return
    for turn in turns:
        print_turn(run.out, turn, at=run.started_at)
    for number, memory in enumerate(memories):
        if number or turns:
            run.out.line()
        print_memory(run.out, memory, at=run.started_at)
        for one in later[memory.id]:
            said = f"said later, {age(one.time, at=run.started_at)}, {short_id(one.id)}"
            run.out.line()
            run.out.line(dim(said))
            run.out.excerpt(one.content, indent="    ", lines=1)
        for neighbour in neighbours[memory.id]:
            run.out.line()
            run.out.line(bold(neighbour.kind), dim(f"  {format_facts(neighbour.memory, at=run.started_at)}"))
            run.out.excerpt(neighbour.memory.content, indent="    ", lines=1)


def find_around(store: MemoryStore, message: str) -> list[Turn]:
    """Return the turn of a message with the turns around it.

    Raises:
        NotFoundError: No session that may be read has the message.
    """
    found = store.turns.find(message)
    if not found:
        raise NotFoundError(f"no session that may be read has the message {message!r}", id=message)
    return store.turns.around(found[0], before=_AROUND, after=_AROUND)


@command("history", is_paged=True)
@id_argument
def history(run: Invocation, *, id: str) -> None:
    """Show the history of a memory, oldest change first."""
    with run.open_store() as store:
        entries = store.history(id)
    if run.out.as_json:
        run.out.json({"history": entries})
        return
    for entry in entries:
        taken_back = " (undone)" if entry.undone else ""
        when = age(entry.at, at=run.started_at)
        run.out.line(bold(f"{entry.kind}{taken_back}"), dim(f"  {when} by {entry.actor}, operation {entry.operation}"))
        fields = describe_changed_fields(entry)
        for line in (*_diff_lines(entry), *((fields,) if fields else ())):
            run.out.line(f"    {line}")


def _diff_lines(entry: HistoryEntry) -> Iterator[str]:
    if entry.after is None:
        return
    before = entry.before.content if entry.before else ""
    for sign, line in compare_lines(before, entry.after.content):
        if sign != " ":
            yield f"{sign}{line}"
