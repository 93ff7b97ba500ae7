"""``opencode-memory recall``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.memories import print_hits, print_near_misses
from opencode_memory.cli.output import dim
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
from opencode_memory.context.provenance import find_headings
from opencode_memory.context.results import NEAR_MISSES, Result, cut
from opencode_memory.context.session_results import present_all, turn_data
from opencode_memory.models import ALL_PROJECTS, Category, Hit, SessionHit, Sources
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.store.selection import Filter


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
    uncut: bool
    sources: Sources
    all_projects: bool


@command("recall")
@text_argument
@limit_option(None, "  [default: recall.limit]")
@categories_option
@scope_option
@period_options
@click.option("-e", "--entity", help="Only memories about this subject: !12, src/app.py.")
@click.option("--as-of", metavar="WHEN", help="Search the store as it was at this time.")
@click.option("-x", "--explain", is_flag=True, help="Explain the rank of each result, or why there is none.")
@click.option("--uncut", is_flag=True, help="Fill the list up to the limit with weaker hits.")
@click.option(
    "--sources",
    type=click.Choice([source.value for source in Sources]),
    default=Sources.ALL.value,
    help="Search memories, sessions of the agent, or both.  [default: all]",
)
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
    uncut: bool,
    sources: str,
    all_projects: bool,
) -> int:
    """Search memories and sessions by words and by meaning. TEXT is one or more words, or - for standard input."""
    request = RecallRequest(
        query=read_text(text),
        limit=limit,
        categories=categories,
        scope=scope,
        period=parse_period(since, until, at=run.started_at),
        entity=entity,
        as_of=parse_moment(as_of, field="--as-of", at=run.started_at),
        explain=explain,
        uncut=uncut,
        sources=Sources(sources),
        all_projects=all_projects,
    )
    return print_answer(run, request)


def print_answer(run: Invocation, request: RecallRequest) -> int:
    """Print the hits of a query; return 1 if there are none."""
    with run.open_store() as store:
        filters: Filter = {
            "project": ALL_PROJECTS if request.all_projects else None,
            "scope": request.scope,
            "category": request.categories or None,
            "since": request.period.since,
            "until": request.period.until,
            "entity": request.entity,
        }
        hits = store.search(
            request.query,
            sources=request.sources,
            limit=request.limit or run.config.recall.limit,
            as_of=request.as_of,
            explain=request.explain,
            **filters,
        )
        results = _arrange(store, hits, request)
        is_explained = request.explain and not hits
        nearest = (
            store.recall(
                request.query,
                limit=NEAR_MISSES,
                as_of=request.as_of,
                explain=True,
                nearest=True,
                unasked=True,
                **filters,
            )
            if is_explained
            else []
        )
    if run.out.as_json:
        fields = {"query": request.query, "hits": [_to_fields(result) for result in results]}
        run.out.json(fields | ({"nearest": nearest} if is_explained else {}))
    elif results:
        print_hits(run.out, results, at=run.started_at)
        shown = len(results) + sum(len(result.before) for result in results if isinstance(result, Result))
        if shown < len(hits):
            run.out.note(dim(f"{format_count(len(hits) - shown, 'weaker hit')} left out; --uncut shows them."))
    elif is_explained:
        print_near_misses(run.out, nearest, at=run.started_at)
    else:
        run.out.note("Nothing found. --explain shows what comes nearest.")
    return DONE if hits else NOTHING_FOUND


def _arrange(store: MemoryStore, hits: Sequence[Hit | SessionHit], request: RecallRequest) -> list[Result | SessionHit]:
    if request.as_of is not None:
        # The links of today say nothing about the statements of an earlier time.
        memories = [hit for hit in hits if isinstance(hit, Hit)]
        return [Result(hit) for hit in (memories if request.uncut else cut(memories))]
    return present_all(store, hits, whole=request.uncut)


def _to_fields(result: Result | SessionHit) -> dict[str, object]:
    """Return the fields of a result: those of its hit, its headings, and the earlier statements if there are any."""
    if isinstance(result, SessionHit):
        found = {"score": result.score, "rank": result.rank, "relevance": result.relevance}
        return {"turn": turn_data(result.turn)} | found | {"explanation": result.explanation}
    fields: dict[str, object] = to_json(result.hit)
    headings = find_headings(result.memory)
    return fields | ({"headings": headings} if headings else {}) | ({"before": result.before} if result.before else {})
