"""``opencode-memory remember``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import click

from opencode_memory.cli.changed_fields import describe_changed_fields
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import CategoryType, check_lifetime, read_text, text_argument
from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category, RememberStatus, ScopeKind
from opencode_memory.text.clock import parse_span, parse_when
from opencode_memory.text.formatting import short_id

_MESSAGES = {
    RememberStatus.STORED: "Remembered.",
    RememberStatus.MERGED: "Already known. Details that are new were added.",
    RememberStatus.UPDATED: "Updated the memory of this topic.",
    RememberStatus.KEPT: "Stored as a candidate, because a memory of higher trust has this topic.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequest:
    """A memory to store, as given on the command line."""

    content: str
    category: Category
    is_global: bool
    topic: str | None
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    ttl: timedelta | None
    time: datetime | None
    pinned: bool


@command("remember")
@text_argument
@click.option(
    "-c",
    "--category",
    type=CategoryType(),
    default=Category.FACT.value,
    show_default=True,
    help="Category of the memory.",
)
@click.option("-g", "--global", "is_global", is_flag=True, help="Store it for all projects, not only for this one.")
@click.option("--topic", help="Topic; storing the same topic again updates the memory.")
@click.option("-t", "--tag", "tags", multiple=True, help="Label; may be repeated.")
@click.option(
    "-e", "--entity", "entities", multiple=True, help="Subject, for example !12 or src/app.py; may be repeated."
)
@click.option("--ttl", metavar="SPAN", help="Expire the memory after this time: 12h, 30d.")
@click.option("--time", metavar="WHEN", help="Time that the memory refers to.  [default: now]")
@click.option("--pin", "pinned", is_flag=True, help="Pin the memory, so that it ranks first when relevant.")
def remember(run: Invocation, /, *, text: tuple[str, ...], ttl: str | None, time: str | None, **given: Any) -> None:
    """Store a memory. TEXT is one or more words, or - for standard input."""
    request = RememberRequest(
        content=read_text(text),
        ttl=None if ttl is None else _parse_ttl(ttl, run.started_at),
        time=None if time is None else parse_when(time, field="--time", at=run.started_at),
        **given,
    )
    store_memory(run, request)


def store_memory(run: Invocation, request: RememberRequest) -> None:
    """Store a memory and print the result."""
    with run.open_store(creates_project=True) as store:
        result = store.remember(
            request.content,
            category=request.category,
            scope=ScopeKind.GLOBAL if request.is_global else None,
            topic=request.topic,
            tags=request.tags,
            entities=request.entities,
            ttl_seconds=None if request.ttl is None else request.ttl.total_seconds(),
            time=request.time,
            pinned=request.pinned,
        )
        # A new text of a topic replaces the fields that were given, and always the expiry and the entities.
        changed = (
            describe_changed_fields(store.history(result.id)[-1]) if result.status is RememberStatus.UPDATED else ""
        )
    if run.out.as_json:
        run.out.json(result)
        return
    run.out.line(f"{_MESSAGES[result.status]} ", dim(short_id(result.id)))
    if changed:
        run.out.line(f"Other fields changed too: {changed}. `opencode-memory undo` takes it back.")
    if result.replaced:
        run.out.line(f"Replaced: {', '.join(map(short_id, result.replaced))}. `opencode-memory undo` takes it back.")
    if result.redactions:
        run.out.line(f"Not stored, because it is secret: {', '.join(result.redactions)}.")


def _parse_ttl(text: str, at: datetime) -> timedelta:
    span = parse_span(text)
    if span is None:
        raise InvalidInputError(f"--ttl: {text!r} is not a time span such as 12h or 30d", field="--ttl")
    check_lifetime(span, text, at=at)
    return span
