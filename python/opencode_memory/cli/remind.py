"""``opencode-memory remind``: reminders and reviews of memories."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE
from opencode_memory.cli.memories import format_due
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import id_argument
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import ALL_PROJECTS, Memory
from opencode_memory.text.clock import age, parse_due, parse_span
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import short_id
from opencode_memory.text.repetition import Due, find_due

_MOST: Final = 1000
_MOST_DAYS: Final = 3650
"""The longest interval that the engine accepts."""
_NEVER: Final = frozenset({"never", "none", "no", "off", "clear"})
_review_option = click.option("--review", "is_review", is_flag=True, help="A review instead of a reminder.")


@command("set")
@id_argument
@click.argument("when")
@click.option("--every", metavar="SPAN", help="Repeat after this time, in whole days: 7d, 4w.")
@_review_option
def set_due(run: Invocation, *, id: str, when: str, every: str | None, is_review: bool) -> None:
    """Show a memory in project briefs from WHEN on: 2026-03-31, tomorrow, 3d.

    With --review, briefs ask whether the memory is still true.
    """
    if when.strip().lower() in _NEVER:
        error = InvalidInputError(f"WHEN: {when!r} is not a date or time", field="WHEN")
        error.hint = f"`opencode-memory remind clear {id}{' --review' if is_review else ''}` removes it"
        raise error
    due = parse_due(when, field="WHEN", at=run.started_at)
    days = None if every is None else _parse_days(every)
    with run.open_store() as store:
        memory = store.reminders.set(id, due, every_days=days, is_review=is_review)
    _print(run, memory)


@command("done")
@id_argument
@_review_option
def done(run: Invocation, *, id: str, is_review: bool) -> None:
    """End a reminder or a review that is due; one that repeats comes again.

    With --review, the memory counts as confirmed.
    """
    with run.open_store() as store:
        memory = store.edit(id, verified=True) if is_review else store.reminders.advance(id)
    _print(run, memory)


@command("clear")
@id_argument
@_review_option
def clear(run: Invocation, *, id: str, is_review: bool) -> None:
    """Remove the reminder or the review of a memory."""
    with run.open_store() as store:
        memory = store.reminders.clear(id, is_review=is_review)
    _print(run, memory)


@command("list")
@click.option("--upcoming", is_flag=True, help="Also list what is due later.")
@click.option("--all-projects", "everywhere", is_flag=True, help="Include every project.")
def list_due(run: Invocation, *, upcoming: bool, everywhere: bool) -> int:
    """List what is due, the longest due first."""
    project = ALL_PROJECTS if everywhere else None
    with run.open_store() as store:
        found = store.reminders.due(limit=_MOST, project=project)
        planned = store.reminders.planned(project=project)
    later = sorted(
        (
            (due, kind, memory)
            for memory in planned
            for kind, due in _list_dues(memory, run.started_at)
            if due.at > run.started_at
        ),
        key=lambda entry: entry[0].at,
    )
    if run.out.as_json:
        fields = {"memories": found}
        run.out.json(fields | ({"upcoming": [memory for _, _, memory in later]} if upcoming else {}))
        return DONE
    listed = [
        (due, kind, memory)
        for memory in found
        for kind, due in _list_dues(memory, run.started_at)
        if due.at <= run.started_at
    ]
    listed += later if upcoming else []
    if listed:
        run.out.table(
            [
                (
                    short_id(memory.id),
                    age(due.at, at=run.started_at),
                    ", ".join(filter(None, (kind, due.waiting))),
                    one_line(memory.content),
                )
                for due, kind, memory in listed
            ],
            right=(1,),
        )
    remarks = [] if listed else ["Nothing is due."]
    if later and not upcoming:
        remarks.append(f"{len(later):,} due later: --upcoming")
    if remarks:
        run.out.note(" ".join(remarks))
    return DONE


def _list_dues(memory: Memory, at: datetime) -> list[tuple[str, Due]]:
    """Return the reminder and the review of a memory, as far as it has them."""
    dues = (
        ("reminder", memory.remind_at, memory.remind_every),
        ("review", memory.review_after, memory.review_every),
    )
    return [(kind, find_due(first, every, at=at)) for kind, first, every in dues if first is not None]


def _print(run: Invocation, memory: Memory) -> None:
    if run.out.as_json:
        run.out.json({"memory": memory})
        return
    parts = [
        f"{kind} {format_due(due, every, run.started_at)}"
        for kind, due, every in (
            ("reminder", memory.remind_at, memory.remind_every),
            ("review", memory.review_after, memory.review_every),
        )
        if due is not None
    ]
    run.out.line(f"{', '.join(parts).capitalize() or 'No reminder and no review'}. ", dim(short_id(memory.id)))


def _parse_days(text: str) -> int:
    span = parse_span(text)
    if span is None or span % timedelta(days=1):
        raise InvalidInputError(f"--every: {text!r} is not a number of whole days such as 7d or 4w", field="--every")
    days = span // timedelta(days=1)
    if not 0 < days <= _MOST_DAYS:
        raise InvalidInputError(f"--every: {text!r} is not between 1 and {_MOST_DAYS} days", field="--every")
    return days


remind: Final = Group(
    "remind", help="Set and end reminders and reviews of memories.", commands=[set_due, done, clear, list_due]
)
