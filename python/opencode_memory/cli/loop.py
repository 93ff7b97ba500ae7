"""``opencode-memory loop``: starts loops, and shows and steers them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.loop_server import tell_server_or_note
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import FiniteRange, confirm, read_text_file, yes_option
from opencode_memory.config.sections import SandboxMode
from opencode_memory.errors import InvalidInputError, NotFoundError, OpencodeMemoryError
from opencode_memory.loops.describe import describe_loop, describe_phase, describe_step
from opencode_memory.loops.model import Loop, Options, Place
from opencode_memory.loops.own_host import PASSWORD_VARIABLE, read_record
from opencode_memory.loops.records import Loops, describe_removal
from opencode_memory.loops.start import (
    Raised,
    Wish,
    cancel_loop,
    check_start,
    pause_loop,
    remove_damaged,
    resume_loop,
    start_loop,
)
from opencode_memory.plans import Plan, Plans, PlanStatus
from opencode_memory.store.documents import Damaged
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import format_count

_MOST_PATH: Final = 1_000
_name_argument = click.argument("name", metavar="LOOP")
_iterations_option = click.option(
    "--iterations", type=click.IntRange(1, 1_000_000), metavar="N", help="Maximum number of coding steps."
)


@command("start")
@click.argument("plan", metavar="PLAN|FILE|TEXT")
@click.option("--check", "checks", multiple=True, metavar="COMMAND", help="With TEXT: a command that must succeed.")
@click.option("--name", metavar="NAME", help="Name of the loop.  [default: made of the title]")
@click.option("--in-place", is_flag=True, help="Work in this folder, without a worktree and without commits.")
@click.option("--take-changes", is_flag=True, help="Take uncommitted changes and new files along.")
@click.option("--setup", metavar="COMMAND", help="Command that prepares the worktree, for example: npm ci")
@click.option("--no-audit", is_flag=True, help="Rely on the commands alone.")
@click.option("--min-audits", type=click.IntRange(0, 100), metavar="N", help="Minimum number of clean audits.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model that codes.")
@click.option("--sandbox", type=click.Choice([mode.value for mode in SandboxMode]), help="Engine of the sandbox.")
@_iterations_option
def start(
    run: Invocation,
    *,
    plan: str,
    checks: tuple[str, ...],
    name: str | None,
    in_place: bool,
    take_changes: bool,
    setup: str | None,
    no_audit: bool,
    min_audits: int | None,
    model: str | None,
    sandbox: str | None,
    iterations: int | None,
) -> None:
    """Start a loop for a submitted plan, for a FILE with a plan, or for a TEXT with --check.

    The loop codes, runs the checks and audits in turns, on a branch of its own, until all is well.
    """
    with run.open_store(creates_project=True) as store:
        wish = Wish(
            directory=run.folder,
            by="command line",
            in_place=in_place,
            options=Options(
                name=name,
                iterations=iterations,
                takes_changes=take_changes,
                setup=setup,
                audits=False if no_audit else None,
                min_audits=min_audits,
                model=model,
                sandbox=None if sandbox is None else SandboxMode(sandbox),
            ),
            program=_find_program(run),
        )
        # Before a plan is written, so that none is left if no loop can be started.
        repository = check_start(store, wish, config=run.config)
        known = {plan.id for plan in Plans(store, store.project).list()}
        found = _find_or_write(run, store, plan, checks)
        loop = _start(run, store, found, wish, is_new=found.id not in known)
    _print(run, loop)
    uncommitted = repository.modified + repository.untracked
    if uncommitted and not in_place and not take_changes:
        run.out.note(
            f"{format_count(uncommitted, 'uncommitted file')} in {repository.folder} will not be in the loop's folder;"
            " --take-changes takes such files along."
        )
    tell_server_or_note(run)


_all_option = click.option("--all", "everything", is_flag=True, help="Include loops that have ended.")


@command("list")
@_all_option
def list_loops(run: Invocation, *, everything: bool) -> int:
    """List the loops of this project, the newest first."""
    return print_loops(run, everything=everything)


@command("status")
@_all_option
def status(run: Invocation, *, everything: bool) -> int:
    """List the loops of this project, the newest first, as `loop list` does."""
    return print_loops(run, everything=everything)


def print_loops(run: Invocation, *, everything: bool) -> int:
    """Print the loops of the project; returns the exit code."""
    with run.open_store() as store:
        loops = Loops(store)
        known = loops.list(store.project)
        shown = [loop for loop in known if everything or not loop.state.has_ended]
        phases = [describe_phase(loop, loops.last_step(loop)) for loop in shown]
        damaged = loops.damaged_in(store.project)
    if run.out.as_json:
        run.out.json({"loops": shown, "damaged": [loop.document.name for loop in damaged]})
    elif shown:
        rows = [
            (loop.id, loop.name, phase, age(loop.created_at, at=run.started_at), loop.reason)
            for loop, phase in zip(shown, phases, strict=True)
        ]
        run.out.table(rows)
    elif not damaged:
        ended = len(known) - len(shown)
        more = f" {format_count(ended, 'loop')} ended before; --all lists them too." if ended else ""
        run.out.note(f"There is no {'' if everything else 'open '}loop in this project.{more}")
    for unreadable in damaged:
        run.out.note(f"{unreadable.problem}; {describe_removal(unreadable.document)}")
    return DONE


@command("show")
@_name_argument
def show(run: Invocation, *, name: str) -> None:
    """Show a loop with its steps."""
    with run.open_store() as store:
        loops = Loops(store)
        loop = _find(store, name)
        steps = loops.steps(loop.id)
    if run.out.as_json:
        run.out.json({"loop": loop, "steps": steps})
        return
    for line in describe_loop(loop, steps[-1] if steps else None, at=run.started_at):
        run.out.line(line)
    for step in steps:
        run.out.line(f"  {describe_step(step, loop)}")


@command("logs", is_paged=True)
@_name_argument
@click.option("--output", "with_output", is_flag=True, help="Also show the output of the commands.")
def logs(run: Invocation, *, name: str, with_output: bool) -> None:
    """Show what happened in a loop, the first event first."""
    with run.open_store() as store:
        loops = Loops(store)
        loop = _find(store, name)
        events, steps = loops.events(loop.id), loops.steps(loop.id)
    if run.out.as_json:
        run.out.json({"loop": loop.id, "events": events})
        return
    if not events:
        run.out.note(f"Nothing has run yet in the loop {loop.name}, which is {loop.state}.")
    for event in events:
        run.out.line(dim(f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}  "), event.text)
    for step in steps if with_output else ():
        if output := str(step.outcome.get("output", "")).strip():
            run.out.line()
            run.out.line(describe_step(step, loop))
            run.out.text(output)


@command("pause")
@_name_argument
def pause(run: Invocation, *, name: str) -> None:
    """Stop a loop; `resume` goes on with the same step."""
    with run.open_store() as store:
        loop = pause_loop(store, _find(store, name), at=run.started_at)
    _print(run, loop)


@command("resume")
@_name_argument
@_iterations_option
@click.option(
    "--hours", type=FiniteRange(0, 1_000, min_open=True), metavar="N", help="Maximum number of hours at work."
)
@click.option(
    "--tokens", type=click.IntRange(1, 10**12), metavar="N", help="Maximum number of tokens that are not cached."
)
@click.option("--cost", type=FiniteRange(0, 1_000_000, min_open=True), metavar="N", help="Maximum cost in US dollars.")
def resume(
    run: Invocation, *, name: str, iterations: int | None, hours: float | None, tokens: int | None, cost: float | None
) -> None:
    """Let a paused or waiting loop go on. The options raise a limit that it has reached."""
    raised = Raised(iterations=iterations, hours=hours, tokens=tokens, cost=cost)
    with run.open_store() as store:
        program = _find_program(run)
        loop = resume_loop(store, _find(store, name), at=run.started_at, raised=raised, program=program)
    _print(run, loop)
    tell_server_or_note(run)


@command("cancel")
@_name_argument
@yes_option
def cancel(run: Invocation, *, name: str, yes: bool) -> int:
    """End a loop for good. Its branch and its folder stay. Of a loop whose record is damaged, remove the record."""
    with run.open_store() as store:
        damaged = Loops(store).find_damaged(name, store.project)
        if damaged is not None:
            return _remove_damaged(run, store, damaged, yes=yes)
        loop = _find(store, name)
        if not confirm(f"Cancel the loop {loop.name}", yes=yes):
            return NOTHING_FOUND
        loop = cancel_loop(store, loop, at=run.started_at)
    _print(run, loop)
    return DONE


@command("restart")
@_name_argument
def restart(run: Invocation, *, name: str) -> None:
    """Start an ended loop again, from its plan, with its options and on a new branch."""
    with run.open_store() as store:
        old = _find(store, name)
        if not old.state.has_ended:
            error = InvalidInputError(f"LOOP: {old.name} has not ended, it is {old.state}", field="LOOP")
            error.hint = f"opencode-memory loop resume {old.name}"
            raise error
        wish = Wish(
            directory=Path(old.directory),
            by="command line",
            in_place=old.place is Place.IN_PLACE,
            options=old.options,
            program=_find_program(run),
        )
        check_start(store, wish, config=run.config)
        plans = Plans(store, store.project)
        again = plans.write_submitted(plans.text(plans.get(old.plan)), at=run.started_at)
        loop = _start(run, store, again, wish, is_new=True)
    _print(run, loop)
    tell_server_or_note(run)


@command("attach")
@_name_argument
def attach(run: Invocation, *, name: str) -> None:
    """Show the session of a loop that runs in the background, in OpenCode's terminal."""
    with run.open_store() as store:
        loop = _find(store, name)
        step = Loops(store).step(loop.id, loop.steps)
    record = read_record(run.config.data_dir)
    program = _find_program(run) or loop.program
    if record is None or program is None or record.pid != loop.host:
        error = InvalidInputError(f"LOOP: {loop.name} has no session in the background", field="LOOP")
        error.hint = "open OpenCode in its project; its sessions are listed there"
        raise error
    session = () if step is None or step.session is None else ("--session", step.session)
    environment = {**run.config.environment, PASSWORD_VARIABLE: record.password}
    os.execve(program, [program, "attach", record.url, *session], environment)  # noqa: S606  the user's own OpenCode


def _remove_damaged(run: Invocation, store: MemoryStore, damaged: Damaged, *, yes: bool) -> int:
    if not confirm(f"Remove the record of a loop: {damaged.problem}", yes=yes):
        return NOTHING_FOUND
    remove_damaged(store, damaged)
    id_ = damaged.document.name
    run.out.note(f"The damaged record of the loop {id_} was removed. Its branch and its folder stay.")
    if run.out.as_json:
        run.out.json({"removed": id_})
    return DONE


def _start(run: Invocation, store: MemoryStore, plan: Plan, wish: Wish, *, is_new: bool) -> Loop:
    """Start a loop. If another process was faster, a plan that was written for the loop is given up."""
    try:
        return start_loop(store, plan, wish, config=run.config, at=run.started_at)
    except OpencodeMemoryError:
        if is_new:
            Plans(store, plan.project).abandon(plan)
        raise


def _find_or_write(run: Invocation, store: MemoryStore, given: str, checks: tuple[str, ...]) -> Plan:
    """Return the plan that is named, or write one from a file or a text. The user's command approves it."""
    plans = Plans(store, store.project)
    if checks:
        return plans.write_submitted(_render(given, checks), at=run.started_at)
    file = run.folder / given
    if len(given) < _MOST_PATH and file.is_file():
        return plans.write_submitted(read_text_file(file, field="FILE"), at=run.started_at)
    try:
        found = plans.get(given)
    except NotFoundError as error:
        if " " in given.strip():
            error.hint = "a text needs --check COMMAND, which decides when the loop is done"
        raise
    return plans.submit(found) if found.status is PlanStatus.DRAFT else found


def _render(text: str, checks: tuple[str, ...]) -> str:
    title = text.strip().partition("\n")[0][:80]
    commands = "\n".join(checks)
    return (
        f"# {title}\n\n## Objective\n{text}\n\n## Steps\n### 1. {title}\nFiles: whatever the objective needs\n"
        f"Acceptance: the commands below succeed\n\n## Verification\n```sh\n{commands}\n```\n"
    )


def _find_program(run: Invocation) -> str | None:
    """Return the program of OpenCode that the server may start for a loop of this command."""
    if not run.config.loop.own_host:
        return None
    return shutil.which("opencode", path=run.config.environment.get("PATH", os.defpath))


def _find(store: MemoryStore, name: str) -> Loop:
    return Loops(store).find(name, store.project)


def _print(run: Invocation, loop: Loop) -> None:
    if run.out.as_json:
        run.out.json({"loop": loop})
    else:
        why = f": {loop.reason}" if loop.reason else ""
        run.out.line(f"The loop {loop.name} is {loop.state}{why}. ", dim(loop.id))


loop: Final = Group(
    "loop",
    help="Let agents code, check and audit until a plan is done.",
    commands=[start, list_loops, show, logs, attach, pause, resume, cancel, restart],
)
