"""Words for loops, the same in tools, commands and dialogs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from opencode_memory.loops.model import Loop, LoopState, Place, Step, StepKind
from opencode_memory.text.clock import age
from opencode_memory.text.display import one_line

_DOING = {
    StepKind.PREPARE: "preparing",
    StepKind.CODE: "coding",
    StepKind.CHECK: "checking",
    StepKind.AUDIT: "auditing",
    StepKind.FINAL_CHECK: "checking a fresh checkout",
    StepKind.FINISH: "finishing",
}


def describe_phase(loop: Loop, step: Step | None) -> str:
    """Return what a loop does, in a few words.

    Args:
        loop: The loop.
        step: Its last step.
    """
    if loop.state is not LoopState.RUNNING:
        return loop.state.value
    doing = "starting" if step is None else _DOING[step.kind]
    return f"{doing} {loop.iteration}/{loop.limits.iterations}"


def describe_loop(loop: Loop, step: Step | None, *, at: datetime) -> Iterator[str]:
    """Yield lines that describe a loop, without its steps."""
    section = f", section {loop.section} of {loop.sections}" if loop.sections > 1 else ""
    yield f"{loop.name} [{loop.id}]: {describe_phase(loop, step)}{section}, started {age(loop.created_at, at=at)}"
    if loop.reason:
        yield f"reason: {loop.reason}"
    if loop.branch is not None:
        where = "in place" if loop.place is Place.IN_PLACE else loop.worktree or ""
        yield f"branch: {loop.branch} ({where})"
    spent = loop.spent
    yield (
        f"used: {spent.input:,} tokens in, {spent.output:,} out, {spent.cached:,} cached, ${spent.cost:.2f},"
        f" {spent.seconds / 60:.0f} min at work"
    )
    if step is not None and step.session is not None:
        yield f"session: {step.session}"


def describe_step(step: Step, loop: Loop) -> str:
    """Return a line about a step of a loop: its work and its result."""
    outcome = step.outcome
    match step.kind:
        case _ if not outcome:
            said = "at work" if loop.state is LoopState.RUNNING else "not finished"
        case StepKind.CODE:
            said = str(outcome.get("note") or outcome.get("said") or outcome.get("result"))
        case StepKind.AUDIT:
            said = f"{outcome.get('verdict') or outcome.get('said') or 'no verdict'}: {outcome.get('report', '')}"
        case StepKind.CHECK | StepKind.FINAL_CHECK:
            exit_code = outcome.get("exit")
            said = "the commands succeed" if exit_code == 0 else f"`{outcome.get('command')}` ended with {exit_code}"
        case _:
            said = str(outcome.get("said") or "done")
    missing = outcome.get("missing_model")
    model = "" if missing is None else f" (OpenCode has no model {one_line(str(missing), 100)}; its default was used)"
    return f"{step.number}. {step.kind} (iteration {step.iteration}): {one_line(said, 300)}{model}"
