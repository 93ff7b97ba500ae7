"""``opencode-memory cleanup``: deletes many memories at once.

A memory must meet all criteria. Only memories of the chosen project can be deleted, or with ``--scope global`` only
global ones, so that a command never deletes more than the user meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import print_list
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import CategoryType, confirm, yes_option
from opencode_memory.errors import InvalidInputError
from opencode_memory.learning.rejections import rejecting
from opencode_memory.models import Category, Memory, ScopeKind, Status
from opencode_memory.store.pages import list_all
from opencode_memory.text.clock import parse_span
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_SHOWN: Final = 10
_CATEGORIES_CALLED_SCOPE: Final = (Category.CONVENTION, Category.DECISION, Category.CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRequest:
    """Criteria of the memories to delete; a criterion that is None or empty matches all memories."""

    older_than: timedelta | None
    ids: tuple[str, ...]
    categories: tuple[Category, ...]
    scope: ScopeKind
    dry_run: bool
    yes: bool


@command("cleanup")
@click.option(
    "--older-than", metavar="DAYS", help="Only memories written more than this number of days ago; also 12w, 6months."
)
@click.option("--ids", metavar="ID,ID…", multiple=True, help="Only the memories with these ids.")
@click.option(
    "-c",
    "--category",
    "categories",
    type=CategoryType(),
    multiple=True,
    help="Only memories of this category; may be repeated.",
)
@click.option(
    "--scope",
    type=click.Choice(
        [*(scope.value for scope in ScopeKind), *(category.value for category in _CATEGORIES_CALLED_SCOPE)]
    ),
    default=ScopeKind.PROJECT.value,
    show_default=True,
    help="The project's memories, or the global ones. The name of a category works like --category.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Delete all memories of the scope; required if there is no other criterion.",
)
@click.option("--dry-run", is_flag=True, help="Show the memories without deleting them.")
@yes_option
def cleanup(
    run: Invocation,
    *,
    older_than: str | None,
    ids: tuple[str, ...],
    categories: tuple[Category, ...],
    scope: str,
    everything: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Delete the memories that meet all criteria, in one change that undo can revert within 30 days."""
    named = tuple(name.strip() for part in ids for name in part.split(",") if name.strip())
    if scope not in [*ScopeKind]:
        categories, scope = (*categories, Category(scope)), ScopeKind.PROJECT
    if not (older_than or named or categories or everything):
        raise click.UsageError("give a criterion, or --all", click.get_current_context())
    request = CleanupRequest(
        older_than=None if older_than is None else _parse_age(older_than, run.started_at),
        ids=named,
        categories=categories,
        scope=ScopeKind(scope),
        dry_run=dry_run,
        yes=yes,
    )
    return delete_matches(run, request)


def delete_matches(run: Invocation, request: CleanupRequest) -> int:
    """Delete the memories that meet all criteria, after the user confirmed."""
    with run.open_store(creates_project=not request.dry_run) as store:
        found = list(_find_matches(store, run, request))
        if not run.out.as_json and found:
            print_list(run.out, found[:_SHOWN], at=run.started_at, with_project=False)
            if len(found) > _SHOWN:
                run.out.line(dim(f"… and {len(found) - _SHOWN} more"))
        wants_to = bool(found) and not request.dry_run
        go_ahead = wants_to and confirm(f"Delete {format_count(len(found), 'memory')}", yes=request.yes)
        deleted = []
        if go_ahead:
            names = [memory.id for memory in found]
            with rejecting(store, names):
                deleted = store.delete(names)
    if run.out.as_json:
        run.out.json({"found": [memory.id for memory in found], "deleted": deleted, "dry_run": request.dry_run})
    elif not found:
        run.out.note("No memory meets the criteria.")
    elif request.dry_run:
        run.out.line(f"{len(found)} would be deleted.")
    elif go_ahead:
        run.out.line(f"Deleted {len(deleted)}. " + ("`opencode-memory undo` restores them." if deleted else ""))
    return DONE if found and go_ahead == wants_to else NOTHING_FOUND


def _find_matches(store: MemoryStore, run: Invocation, request: CleanupRequest) -> Iterator[Memory]:
    before = None if request.older_than is None else run.started_at - request.older_than
    wanted = {memory.id for memory in map(store.get, request.ids)}
    found = list_all(
        store,
        project=run.select_project(store, request.scope),
        scope=request.scope,
        category=request.categories or None,
        status=tuple(Status),
        older_than=before,
    )
    yield from (memory for memory in found if not wanted or memory.id in wanted)


def _parse_age(text: str, at: datetime) -> timedelta:
    span = timedelta(days=int(text)) if text.isdecimal() and len(text) < len("1000000") else parse_span(text)
    if span is None:
        raise InvalidInputError(
            f"--older-than: {text!r} is not a number of days or a time span such as 12w", field="--older-than"
        )
    try:
        at - span
    except OverflowError as error:
        raise InvalidInputError(f"--older-than: {text!r} is before the year 1", field="--older-than") from error
    return span
