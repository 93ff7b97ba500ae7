"""Check of plans and loops: those that wait for the user, loops that no server runs, and folders that are left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.text import clock
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.loops.model import Loop
    from opencode_memory.loops.records import Loops
    from opencode_memory.store.memory_store import MemoryStore

_UNANSWERED: Final = timedelta(days=1)
_STARTS: Final = timedelta(minutes=1)
"""Time in which a server takes a loop that was started or resumed."""
_MOST_NAMED: Final = 5


def check_loops(store: MemoryStore) -> Iterator[Check]:
    """Report plans and loops of all projects; nothing if there are none."""
    from opencode_memory.loops.records import Loops  # noqa: PLC0415  not needed for help

    loops, at = Loops(store), clock.now()
    known = loops.list_all()
    checks = [
        *_check_damaged(store, loops),
        *_check_running(loops, known, at),
        *_check_resting(known, at),
        *_check_folders(store.data_dir / "loops", known, {damaged.document.name for damaged in loops.damaged()}),
        *_check_plans(store, at),
    ]
    yield from checks
    if known and not checks:
        running = sum(not loop.state.has_ended for loop in known)
        yield Check("loops", Level.OK, f"{format_count(running, 'loop')} at work, {len(known) - running} ended")


def _check_damaged(store: MemoryStore, loops: Loops) -> Iterator[Check]:
    """Report loops whose records cannot be read, which no server runs, and damaged parts of loops and plans."""
    from opencode_memory.exchange.plans_and_loops import find_damaged_parts  # noqa: PLC0415  as above
    from opencode_memory.loops.records import describe_removal  # noqa: PLC0415  as above

    for part in find_damaged_parts(store):
        hint = "`opencode-memory backup restore` brings back the records of a backup"
        anew = "if a loop cannot go on: `opencode-memory loop cancel`, then `loop restart`"
        yield Check("loops", Level.PROBLEM, part.problem, f"{hint}; {anew}")

    for damaged in loops.damaged():
        project = damaged.document.project or "no project"
        yield Check("loops", Level.PROBLEM, f"{damaged.problem} (in {project})", describe_removal(damaged.document))


def _check_running(loops: Loops, known: list[Loop], at: datetime) -> Iterator[Check]:
    """Report loops that should run, but whose server has ended."""
    from opencode_memory.loops.model import LoopState  # noqa: PLC0415  as above

    for loop in known:
        has_had_time = at - (loop.changed_at or loop.created_at) > _STARTS
        if loop.state is LoopState.RUNNING and has_had_time and not loops.is_held(loop.id, at=at):
            text = f"no server runs the loop {_name(loop)}, which is at work"
            yield Check("loops", Level.PROBLEM, text, "opencode-memory serve --detach")


def _check_resting(known: list[Loop], at: datetime) -> Iterator[Check]:
    """Report loops that wait for the user, or for an OpenCode."""
    from opencode_memory.loops.model import LoopState, Rest  # noqa: PLC0415  as above

    for loop in known:
        if loop.state in {LoopState.WAITING, LoopState.PAUSED}:
            since = age(loop.changed_at or loop.created_at, at=at)
            is_host = loop.rest is Rest.HOST
            hint = f"open OpenCode in {loop.directory}" if is_host else f"opencode-memory loop resume {loop.name}"
            whom = "an OpenCode" if is_host else "you"
            text = f"the loop {_name(loop)} waits for {whom}, {since}: {loop.reason}"
            yield Check("loops", Level.NOTE, text, f"{hint}; or opencode-memory loop cancel {loop.name}")


def _check_folders(folder: Path, known: list[Loop], damaged: set[str]) -> Iterator[Check]:
    """Report folders of loops that have no record any more."""
    ids = {loop.id for loop in known} | damaged
    left = sorted(entry for entry in folder.iterdir() if entry.name not in ids) if folder.is_dir() else []
    # The small shell of a sandbox holds no work.
    trees = [tree for entry in left if entry.is_dir() for tree in sorted(entry.iterdir()) if tree.is_dir()]
    if trees:
        named = ", ".join(map(str, trees[:_MOST_NAMED])) + (" …" if len(trees) > _MOST_NAMED else "")
        text = f"{format_count(len(trees), 'folder')} of loops that are forgotten: {named}"
        yield Check("loops", Level.NOTE, text, "look at it, then remove it with: git worktree remove FOLDER")


def _check_plans(store: MemoryStore, at: datetime) -> Iterator[Check]:
    """Report plans that wait for an answer for more than a day, and those that cannot be read."""
    from opencode_memory.plans import PlanStatus  # noqa: PLC0415  as above
    from opencode_memory.plans.plans import KIND, describe_rescue, to_plan  # noqa: PLC0415  as above
    from opencode_memory.store.documents import sort_out  # noqa: PLC0415  as above

    plans, damaged = sort_out(store.documents.list(KIND), to_plan)
    for plan in damaged:
        project = plan.document.project or "no project"
        yield Check("plans", Level.PROBLEM, f"{plan.problem} (in {project})", describe_rescue(plan.document))
    waiting = [plan for plan in plans if plan.status is PlanStatus.SUBMITTED and at - plan.changed_at > _UNANSWERED]
    if waiting:
        oldest = min(waiting, key=lambda plan: plan.changed_at)
        verb = "waits" if len(waiting) == 1 else "wait"
        text = f"{format_count(len(waiting), 'plan')} {verb} for your answer, the oldest of "
        text += f"{age(oldest.changed_at, at=at)}: {oldest.title} ({oldest.id}) in {oldest.project or 'no project'}"
        yield Check("plans", Level.NOTE, text, "in its project: opencode-memory plan approve ID, or plan abandon ID")


def _name(loop: Loop) -> str:
    return f"{loop.name} in {loop.directory}"
