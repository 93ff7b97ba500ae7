"""``opencode-memory recall``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import print_hits
from opencode_memory.cli.parameters import (
    Period,
    all_projects_option,
    categories_option,
    limit_option,
    parse_moment,
    parse_period,
    period_options,
    read_text,
    scope_option,
    text_argument,
)
from opencode_memory.context.results import Result, present
from opencode_memory.models import ALL_PROJECTS, Category
from opencode_memory.text.json_values import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A query with its filters, as given on the command line."""

    query: str
    limit: int | None
    categories: tuple[Category, ...]
    scope: str | None
    period: Period
    entity: str | None
    as_of: datetime | None
    explain: bool
    all_projects: bool


@command("recall")
@text_argument
@limit_option(None, "  [default: recall.limit]")
@categories_option
@scope_option
@period_options
@click.option("-e", "--entity", help="Only memories about this subject: !12, src/app.py.")
@click.option("--as-of", metavar="WHEN", help="Search the store as it was at this time.")
@click.option("-x", "--explain", is_flag=True, help="Explain the rank of each result.")
@all_projects_option
def recall(
    run: Invocation,
    *,
    text: tuple[str, ...],
    limit: int | None,
    categories: tuple[Category, ...],
    scope: str | None,
    since: str | None,
    until: str | None,
    entity: str | None,
    as_of: str | None,
    explain: bool,
    all_projects: bool,
) -> int:
    """Search memories by words and by meaning. TEXT is one or more words, or - for standard input."""
    request = RecallRequest(
        query=read_text(text),
        limit=limit,
        categories=categories,
        scope=scope,
        period=parse_period(since, until, at=run.started_at),
        entity=entity,
        as_of=parse_moment(as_of, field="--as-of", at=run.started_at),
        explain=explain,
        all_projects=all_projects,
    )
    return print_answer(run, request)


def print_answer(run: Invocation, request: RecallRequest) -> int:
    """Print the hits of a query; return 1 if there are none."""
    with run.open_store() as store:
        hits = store.recall(
            request.query,
            limit=request.limit or run.config.recall.limit,
            project=ALL_PROJECTS if request.all_projects else None,
            scope=request.scope,
            category=request.categories or None,
            since=request.period.since,
            until=request.period.until,
            entity=request.entity,
            as_of=request.as_of,
            explain=request.explain,
        )
        # The links of today say nothing about the statements of an earlier time.
        results = [Result(hit) for hit in hits] if request.as_of else present(store, hits)
    if run.out.as_json:
        run.out.json({"query": request.query, "hits": [_to_fields(result) for result in results]})
    elif results:
        print_hits(run.out, results, at=run.started_at)
    else:
        run.out.note("Nothing found.")
    return DONE if hits else NOTHING_FOUND


def _to_fields(result: Result) -> dict[str, object]:
    """Return the fields of a result: those of its hit, and the earlier statements if there are any."""
    fields: dict[str, object] = to_json(result.hit)
    return fields | ({"before": result.before} if result.before else {})
