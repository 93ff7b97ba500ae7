"""``opencode-memory cleanup``: deleting many memories at once, and never more than was meant.

Every criterion narrows the choice further, and none of them reaches beyond the chosen project: its memories, or with
``--scope global`` the global ones, are all that can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import print_list
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import CategoryType, confirm, yes_option
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, Memory, ScopeKind, Status
from opencode_memory.text.clock import parse_span
from opencode_memory.text.formatting import counted

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 1000
_SHOWN: Final = 10
_CATEGORIES_CALLED_SCOPE: Final = (Category.CONVENTION, Category.DECISION, Category.CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRequest:
    """What to delete; criteria that are None or empty do not narrow."""

    older_than: timedelta | None
    ids: tuple[str, ...]
    categories: tuple[Category, ...]
    scope: ScopeKind
    dry_run: bool
    yes: bool


@command("cleanup")
@click.option(
    "--older-than", metavar="DAYS", help="Only what was written more than so many days ago; also 12w, 6months."
)
@click.option("--ids", metavar="ID,ID…", multiple=True, help="Only these.")
@click.option(
    "-c", "--category", "categories", type=CategoryType(), multiple=True, help="Only this category; may be repeated."
)
@click.option(
    "--scope",
    type=click.Choice(
        [*(scope.value for scope in ScopeKind), *(category.value for category in _CATEGORIES_CALLED_SCOPE)]
    ),
    default=ScopeKind.PROJECT.value,
    show_default=True,
    help="The project's memories or the global ones; a category is taken as --category.",
)
@click.option("--all", "everything", is_flag=True, help="All of them; needed when nothing else narrows the choice.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
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
    """Delete memories that meet all criteria, in one step that undo takes back within 30 days."""
    named = tuple(name.strip() for part in ids for name in part.split(",") if name.strip())
    if scope not in [*ScopeKind]:
        categories, scope = (*categories, Category(scope)), ScopeKind.PROJECT
    if not (older_than or named or categories or everything):
        raise click.UsageError("say what to delete, or --all", click.get_current_context())
    request = CleanupRequest(
        older_than=None if older_than is None else _parse_age(older_than),
        ids=named,
        categories=categories,
        scope=ScopeKind(scope),
        dry_run=dry_run,
        yes=yes,
    )
    return delete_matches(run, request)


def delete_matches(run: Invocation, request: CleanupRequest) -> int:
    """Delete what meets all criteria, after a question."""
    with run.open_store(creates_project=True) as store:
        found = list(_find_matches(store, run, request))
        if not run.out.as_json and found:
            print_list(run.out, found[:_SHOWN], at=run.started_at, with_project=False)
            if len(found) > _SHOWN:
                run.out.line(dim(f"… and {len(found) - _SHOWN} more"))
        go_ahead = (
            bool(found) and not request.dry_run and confirm(f"Delete {counted(len(found), 'memory')}", yes=request.yes)
        )
        deleted = store.delete([memory.id for memory in found]) if go_ahead else []
    if run.out.as_json:
        run.out.json({"found": [memory.id for memory in found], "deleted": deleted, "dry_run": request.dry_run})
    elif not found:
        run.out.note("Nothing meets the criteria.")
    elif request.dry_run:
        run.out.line(f"{len(found)} would be deleted.")
    else:
        run.out.line(f"Deleted {len(deleted)}. " + ("`opencode-memory undo` brings them back." if deleted else ""))
    return DONE if found else NOTHING_FOUND


def _find_matches(store: MemoryStore, run: Invocation, request: CleanupRequest) -> Iterator[Memory]:
    before = None if request.older_than is None else run.started_at - request.older_than
    wanted = {memory.id for memory in map(store.get, request.ids)}
    offset = 0
    while page := store.list(
        scope=request.scope,
        category=request.categories or None,
        status=tuple(Status),
        older_than=before,
        limit=_PAGE,
        offset=offset,
    ):
        offset += len(page)
        yield from (memory for memory in page if not wanted or memory.id in wanted)


def _parse_age(text: str) -> timedelta:
    span = timedelta(days=int(text)) if text.isdecimal() and len(text) < len("1000000") else parse_span(text)
    if span is None:
        raise InvalidInputError(
            f"--older-than: {text!r} is not a number of days, or a time such as 12w", field="--older-than"
        )
    return span
