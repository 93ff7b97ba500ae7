"""Tools for loops: start one, see and end it, and report on a step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from opencode_memory._core import redact
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.loops.describe import describe_loop, describe_phase, describe_step
from opencode_memory.loops.documents import Report
from opencode_memory.loops.model import Loop, LoopState, Rest, StepState
from opencode_memory.loops.records import Loops
from opencode_memory.loops.start import cancel_loop, resume_loop
from opencode_memory.plans import Plans
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import SessionCall
from opencode_memory.server.plugin.tools.plans import find_plan, offer
from opencode_memory.server.toolbox import tool
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count

_MAX_LISTED = 20
_MAX_STEPS = 12


@tool(name="memory-loop")
def memory_loop(call: SessionCall, plan: str | None = None) -> Answer:
    """Have the plan coded, checked and audited in turns until it is done, once the user has approved it."""
    plans = Plans(call.store, call.client.project)
    found = find_plan(call, plans, plan)
    return offer(plans.submit(found) if found.status.is_open else found)


@tool(name="memory-loop-status")
def memory_loop_status(call: SessionCall, name: str | None = None, restart: bool = False) -> Answer:
    """List loops, or show one; restart lets a resting one go on."""
    loops = Loops(call.store)
    if name is None and not restart:
        return _list_all(call, loops)
    loop = _find(call, loops, name)
    if restart:
        if loop.rest in {Rest.PERSON, Rest.ERROR}:
            raise ConflictError(
                f"{loop.name} waits for the user ({loop.reason}); only they resume it: opencode-memory loop resume"
                f" {loop.name}"
            )
        loop = resume_loop(call.store, loop, at=call.at)
    steps = loops.steps(loop.id)
    last = steps[-1] if steps else None
    lines = [*describe_loop(loop, last, at=call.at), *(describe_step(step, loop) for step in steps[-_MAX_STEPS:])]
    return Answer(join_lines(*lines), {"loop": loop.id, "name": loop.name, "state": loop.state})


@tool(name="memory-loop-cancel", destroys=True)
def memory_loop_cancel(call: SessionCall, name: str | None = None) -> Answer:
    """End a loop; its branch stays."""
    loop = cancel_loop(call.store, _find(call, Loops(call.store), name), at=call.at, by="an agent")
    branch = "It has no branch yet." if loop.branch is None else f"Its branch {loop.branch} stays."
    return Answer(f"The loop {loop.name} is cancelled. {branch}", {"loop": loop.id})


@tool(name="memory-loop-report")
def memory_loop_report(
    call: SessionCall,
    text: Annotated[str, Field(min_length=1, max_length=2_000)],
    verdict: Literal["clean", "dirty"] | None = None,
) -> Answer:
    """In a loop: report what you changed, or the verdict of your audit, in one sentence."""
    loops = Loops(call.store)
    found = loops.of_session(call.session or "")
    if found is None:
        raise InvalidInputError(
            "session: this session belongs to no loop, so there is nothing to report", field="session"
        )
    loop, step = found
    if step.kind == "audit" and verdict is None:
        raise InvalidInputError("verdict: is required at the end of an audit: clean or dirty", field="verdict")
    if step.state is StepState.DONE or loop.state is not LoopState.RUNNING:
        raise ConflictError("this step of the loop has ended, so its report is no longer taken")
    kept = verdict if step.kind == "audit" else None
    loops.report(step, Report(verdict=kept, text=one_line(redact(text)[0], 2_000)))
    return Answer("Recorded. End your turn now.", {"loop": loop.id, "step": step.number})


def _find(call: SessionCall, loops: Loops, name: str | None) -> Loop:
    if name is not None:
        return loops.find(name, call.client.project)
    known = [loop for loop in loops.list(call.client.project) if not loop.state.has_ended]
    if len(known) == 1:
        return known[0]
    raise InvalidInputError(f"name: there are {format_count(len(known), 'open loop')}; name one", field="name")


def _list_all(call: SessionCall, loops: Loops) -> Answer:
    known = loops.list(call.client.project)[:_MAX_LISTED]
    if not known:
        return Answer("There are no loops in this project.", {"loops": []})
    lines = [f"{loop.name} [{loop.id}]: {describe_phase(loop, loops.last_step(loop))}" for loop in known]
    data = [{"loop": loop.id, "name": loop.name, "state": loop.state, "reason": loop.reason} for loop in known]
    return Answer(join_lines(*lines), {"loops": data})
