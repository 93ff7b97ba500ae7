"""``opencode-memory recall``."""

from __future__ import annotations

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.delegation import delegate_command
from opencode_memory.cli.parameters import (
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
from opencode_memory.cli.recall_request import OPERATION, RecallRequest
from opencode_memory.models import Category, Sources
from opencode_memory.text.json_values import to_json


@command("recall", is_paged=True)
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
    code = delegate_command(run, OPERATION, to_json(request))
    if code is None:
        from opencode_memory.cli.recall_answer import print_answer  # noqa: PLC0415  not needed if a server answers

        code = print_answer(run, request)
    return code
