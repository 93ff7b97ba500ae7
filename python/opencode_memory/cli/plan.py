"""``opencode-memory plan``: lists, shows, approves and changes plans."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.editor import edit_text, keep_if_refused
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.loop_server import tell_server_or_note
from opencode_memory.cli.output import bold, dim
from opencode_memory.cli.parameters import PathType, confirm, read_text_file, yes_option
from opencode_memory.errors import ConflictError
from opencode_memory.loops.approve import approve_plan
from opencode_memory.loops.records import Loops
from opencode_memory.plans import Mode, Plan, Plans, PlanStatus, read_plan
from opencode_memory.plans.plans import describe_rescue, refuse_closed, refuse_done
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line

_plan_argument = click.argument("plan", metavar="PLAN")


@command("list")
@click.option("--all", "everything", is_flag=True, help="Include plans that are done or abandoned.")
def list_plans(run: Invocation, *, everything: bool) -> int:
    """List the plans of this project, the one that changed last first."""
    with run.open_store() as store:
        plans = _plans(store)
        known, damaged = plans.list(), plans.damaged()
    shown = [plan for plan in known if everything or plan.status not in {PlanStatus.DONE, PlanStatus.ABANDONED}]
    if run.out.as_json:
        run.out.json({"plans": shown, "damaged": [plan.document.name for plan in damaged]})
    elif shown:
        rows = [(plan.id, plan.status.value, age(plan.changed_at, at=run.started_at), plan.title) for plan in shown]
        run.out.table(rows, right=(2,))
    elif not damaged:
        run.out.note("There is no plan in this project.")
    for unreadable in damaged:
        run.out.note(f"{unreadable.problem}; {describe_rescue(unreadable.document)}")
    return DONE


@command("show", is_paged=True)
@_plan_argument
@click.option("--version", "number", type=click.IntRange(1), metavar="N", help="An earlier text.")
def show_plan(run: Invocation, *, plan: str, number: int | None) -> None:
    """Show a plan with its text, and what is missing before it can be submitted."""
    with run.open_store() as store:
        plans = _plans(store)
        found = plans.get(plan)
        text = plans.text(found, number)
    problems = read_plan(text).problems
    if run.out.as_json:
        run.out.json({"plan": found, "text": text, "problems": problems})
        return
    how = "" if found.approval is None else f", {found.approval.mode} by {found.approval.by}"
    changed = age(found.changed_at, at=run.started_at)
    about = f"  {found.id}  {found.status}{how}, version {number or found.text_version}, changed {changed}"
    run.out.line(bold(found.title), dim(about))
    if found.remark is not None:
        run.out.text(f"Sent back: {found.remark}")
    run.out.line("")
    run.out.text(text)
    for problem in problems:
        run.out.note(f"missing: {problem}")


@command("approve")
@_plan_argument
@click.option(
    "--in",
    "mode",
    type=click.Choice([mode.value for mode in Mode]),
    default=Mode.NEW.value,
    show_default=True,
    help="A new session, the session that wrote it (here), a loop in a worktree, or a loop in this folder.",
)
def approve(run: Invocation, *, plan: str, mode: str) -> None:
    """Approve a submitted plan. Approving it twice changes nothing."""
    with run.open_store(creates_project=True) as store:
        approved = approve_plan(
            store,
            _plans(store).get(plan),
            Mode(mode),
            directory=run.folder,
            by="command line",
            config=run.config,
            at=run.started_at,
        )
    _print(run, approved)
    tell_server_or_note(run)


@command("edit")
@_plan_argument
@click.option("--file", "file", type=PathType(exists=True, dir_okay=False), help="The new text.")
@click.option("--submit", "submits", is_flag=True, help="Also offer it for approval.")
def edit(run: Invocation, *, plan: str, file: Path | None, submits: bool) -> None:
    """Change the text of a plan in your editor, or take it from --file. Earlier texts are kept."""
    with run.open_store() as store:
        plans = _plans(store)
        damaged = plans.find_damaged(plan)
        found = plans.get(plan) if damaged is None else plans.rescue(damaged, at=run.started_at)
        refuse_closed(found)
        before = plans.text(found)
        if file is not None:
            text: str | None = read_text_file(file, field="--file")
        else:
            text = edit_text(before, field="--file", instead="give a file with the new text: --file FILE")
        if text is not None and text != before:
            with keep_if_refused(text if file is None else None):
                written = plans.rewrite(found, text, at=run.started_at, why="edited on the command line")
            found = written.plan
            if written.redactions:
                run.out.note(f"Not stored, because it is secret: {', '.join(written.redactions)}.")
        if submits:
            found = plans.submit(found)
    _print(run, found)


@command("send-back")
@_plan_argument
@click.argument("remark", nargs=-1, required=True)
def send_back(run: Invocation, *, plan: str, remark: tuple[str, ...]) -> None:
    """Send a submitted plan back to its author with a REMARK."""
    with run.open_store() as store:
        plans = _plans(store)
        found = plans.send_back(plans.get(plan), " ".join(remark))
    _print(run, found)


@command("done")
@_plan_argument
def done(run: Invocation, *, plan: str) -> None:
    """Record that an approved plan is done. A loop records this by itself."""
    with run.open_store() as store:
        plans = _plans(store)
        found = plans.get(plan)
        _refuse_loop(store, found)
        found = plans.finish(found)
    _print(run, found)


@command("abandon")
@_plan_argument
@yes_option
def abandon(run: Invocation, *, plan: str, yes: bool) -> int:
    """Give a plan up. Its text is kept."""
    with run.open_store() as store:
        plans = _plans(store)
        found = plans.get(plan)
        _refuse_loop(store, found)
        refuse_done(found)
        is_new = found.status is not PlanStatus.ABANDONED
        if is_new and not confirm(f"Abandon the plan {one_line(found.title, 80)!r}", yes=yes):
            return NOTHING_FOUND
        found = plans.abandon(found)
    _print(run, found)
    return DONE


def _refuse_loop(store: MemoryStore, plan: Plan) -> None:
    """Refuse to end a plan on which a loop works."""
    for loop in Loops(store).list(store.project):
        if loop.plan == plan.id and not loop.state.has_ended:
            error = ConflictError(f"the loop {loop.name} works on this plan")
            error.hint = f"first end the loop: opencode-memory loop cancel {loop.name}"
            raise error


def _plans(store: MemoryStore) -> Plans:
    return Plans(store, store.project)


def _print(run: Invocation, plan: Plan) -> None:
    if run.out.as_json:
        run.out.json({"plan": plan})
    else:
        how = "" if plan.approval is None else f" ({plan.approval.mode})"
        run.out.line(f"{plan.status.value.capitalize()}{how}: {plan.title} ", dim(plan.id))


plan: Final = Group(
    "plan",
    help="List, show and approve plans that agents wrote.",
    commands=[list_plans, show_plan, approve, edit, send_back, done, abandon],
)
