"""``opencode-memory enrich``: titles and states of issues and merge requests, from GitHub and GitLab."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.cli.progress import progress
from opencode_memory.entities import canonical
from opencode_memory.errors import NotFoundError
from opencode_memory.forges import Batch, Due, Enricher, Outcome, Result
from opencode_memory.text import clock
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count, short_id

_LIMIT: Final = 100
_MOST: Final = 10_000


@command("enrich", is_paged=True)
@click.argument("reference", required=False, metavar="[REF]")
@click.option(
    "--limit", type=click.IntRange(1, _MOST), default=_LIMIT, show_default=True, help="Maximum number of requests."
)
@click.option("--dry-run", is_flag=True, help="List what would be requested, and send nothing.")
def enrich(run: Invocation, *, reference: str | None, limit: int, dry_run: bool) -> int:
    """Fetch titles and states of issues, merge requests and epics from GitHub and GitLab.

    REF is one of them: #12, !12, group/project#12 or a URL. Without REF, everything that memories of this project name
    is fetched, if it was not fetched lately. The token is that of GITHUB_TOKEN, GITLAB_TOKEN, `gh` or `glab`.
    """
    with run.open_store(creates_project=not dry_run) as store:
        enricher = Enricher(store, run.config.forge, run.config.environment, now=clock.now)
        if reference is not None:
            name = canonical(reference, project=store.project)
            due = enricher.plan(name, project=store.project) if dry_run else Due(names=(name,))
        else:
            due = enricher.find_due(store.project, limit=limit)
        if dry_run:
            return _print_plan(run, due, enricher)
        if reference is not None:
            batch = Batch(results=(_fetch(enricher, name, store.project),), problems={}, failed=0)
        else:
            batch = _fetch_all(run, enricher, due.names, store.project)
    return _print(run, batch, due, enricher)


def _fetch_all(run: Invocation, enricher: Enricher, names: Sequence[str], project: str | None) -> Batch:
    done = count(1)
    with progress("fetching", quiet=run.out.as_json, kept="What was fetched is stored.") as report:
        return enricher.enrich_all(names, project=project, after_each=lambda: report(next(done), len(names)))


def _fetch(enricher: Enricher, name: str, project: str | None) -> Result:
    result = enricher.enrich(name, project=project, is_asked=True)
    if result.item is None:
        error = NotFoundError(f"{one_line(name, 120)} does not exist, or the token may not read it", id=name)
        error.hint = "check the number and the project"
        raise error
    return result


def _print_plan(run: Invocation, due: Due, enricher: Enricher) -> int:
    if run.out.as_json:
        run.out.json({"would_fetch": due.names, "without_token": due.without_token, "paused": due.paused})
        return DONE
    for name in due.names:
        run.out.line(name)
    run.out.note(f"{format_count(len(due.names), 'item')} would be fetched; nothing was sent.")
    _note_hosts(run, due, enricher)
    return DONE


def _print(run: Invocation, batch: Batch, due: Due, enricher: Enricher) -> int:
    if run.out.as_json:
        run.out.json(
            {
                "items": [_to_fields(result) for result in batch.results],
                "problems": batch.problems,
                "failed": batch.failed,
                "without_token": due.without_token,
                "paused": due.paused,
            }
        )
    else:
        for result in batch.results:
            _print_result(run, result)
        if any(result.blockers for result in batch.results):
            run.out.note("If a blocker is resolved: opencode-memory resolve ID")
        for name, problem in batch.problems.items():
            run.out.note(f"{name}: {problem}")
        if not (batch.results or batch.failed or due.paused or due.without_token):
            run.out.note("No memory of this project names an item that is due.")
        _note_hosts(run, due, enricher)
    return NOTHING_FOUND if batch.failed else DONE


def _print_result(run: Invocation, result: Result) -> None:
    if result.item is None:
        run.out.line(f"{result.name} does not exist, or the token may not read it")
        return
    state = "" if result.outcome is Outcome.FETCHED else " (not changed)"
    run.out.line(result.item.describe(result.name), dim(state))
    for blocker in result.blockers:
        run.out.line(f"  still a blocker: {short_id(blocker.id)}  {one_line(blocker.content, 80)}")


def _note_hosts(run: Invocation, due: Due, enricher: Enricher) -> None:
    for host in due.without_token:
        run.out.note(f"There is no token for {host}: {enricher.forges.describe_missing(host)}.")
    for pause in due.paused:
        run.out.note(f"{pause}.")


def _to_fields(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "outcome": result.outcome,
        "item": None if result.item is None else result.item.to_json(),
        "memory": None if result.memory is None else result.memory.id,
        "blockers": [blocker.id for blocker in result.blockers],
    }
