"""``opencode-memory jobs``: lists pending and permanently failed background jobs."""

from __future__ import annotations

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.store.jobs import Job
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import format_count

_MAX_JOBS = 1000


@command("jobs", is_paged=True)
@click.option("--retry", is_flag=True, help="Queue all permanently failed jobs again.")
def jobs(run: Invocation, *, retry: bool) -> int:
    """List background jobs: permanently failed ones first, then by due time. Exits with 1 if any job failed."""
    with run.open_store() as store:
        revived = store.jobs.revive() if retry else 0
        found = store.jobs.list(limit=_MAX_JOBS)
    dead = sum(job.dead_at is not None for job in found)
    if run.out.as_json:
        run.out.json({"revived": revived, "jobs": found})
    else:
        if retry:
            run.out.note(f"{format_count(revived, 'job')} will be tried again.")
        if found:
            run.out.table([_format_row(run, job) for job in found])
        else:
            run.out.note("There are no jobs.")
    return NOTHING_FOUND if dead else DONE


def _format_row(run: Invocation, job: Job) -> tuple[str, str, str, str]:
    at = run.started_at
    if job.dead_at is not None:
        state = f"failed {age(job.dead_at, at=at)}"
    elif job.lease_until is not None and job.lease_until > at:
        state = "running"
    elif job.attempts:
        state = f"try {job.attempts + 1} {_format_due(run, job)}"
    else:
        state = _format_due(run, job) if job.run_at > at else "due"
    return job.kind, state, job.subject, job.error or ""


def _format_due(run: Invocation, job: Job) -> str:
    span = age(run.started_at, at=max(job.run_at, run.started_at))
    return "in a moment" if span == "now" else f"in {span.removesuffix(' ago')}"
