"""Commands /plan, /loop and /cancel-loop. The user typed them, so they approve and cancel at once."""

from __future__ import annotations

from opencode_memory._core import redact
from opencode_memory.context.block import escape
from opencode_memory.loops.approve import approve_plan
from opencode_memory.loops.describe import describe_phase
from opencode_memory.loops.records import Loops
from opencode_memory.loops.start import cancel_loop
from opencode_memory.plans import Mode, Plan, Plans, PlanStatus
from opencode_memory.server.answers import join_lines
from opencode_memory.server.call import SessionCall
from opencode_memory.server.plugin.tools.plans import plan_folder
from opencode_memory.text.display import one_line

_MOST_SHOWN = 10
_LINE = 200
_TASK_BYTES = 2_000
_ASK_FOR_PLAN = (
    "Write a plan for what the user wants with memory-plan (action=write), submit it (action=submit), and tell the"
    " user to type /loop again. Change no files."
)
_ONLY_SAY = "Tell the user so in one short line; do nothing else."


def show_plans(call: SessionCall, arguments: str) -> str:
    """Show the plans of the project, or the one that is named."""
    plans = Plans(call.store, call.client.project)
    wanted = arguments.strip()
    if wanted:
        plan = plans.get(wanted)
        return join_lines("The user typed /plan. Show them this plan as it is; do nothing else.", _quote(plans, plan))
    known = plans.list()[:_MOST_SHOWN]
    if not known:
        return f"The user typed /plan, and there is no plan in this project yet. {_ONLY_SAY}"
    return join_lines(
        "The user typed /plan. Show them these lines as they are; do nothing else.",
        *(f"- [{plan.id}] {escape(one_line(plan.title, _LINE))}: {plan.status}" for plan in known),
        "`opencode-memory plan approve ID` approves one; `/loop` runs the newest submitted one.",
    )


def start_loop(call: SessionCall, arguments: str) -> str:
    """Start a loop for the newest submitted plan, or for the one that is named. A task needs a plan first."""
    plans = Plans(call.store, call.client.project)
    wanted = arguments.strip()
    # A plan is named by one word of ASCII. Japanese, for example, has no blanks between words.
    if len(wanted.split()) > 1 or not wanted.isascii():
        task = escape(one_line(redact(wanted)[0], _TASK_BYTES))
        return join_lines(f"The user typed /loop with a task, and no loop has started: «{task}».", _ASK_FOR_PLAN)
    plan = plans.get(wanted) if wanted else _newest(call, plans)
    if plan is None:
        return join_lines("The user typed /loop, and no plan is submitted.", _ASK_FOR_PLAN)
    if plan.status is PlanStatus.DRAFT:
        plan = plans.submit(plan)
    approved = approve_plan(
        call.store, plan, Mode.LOOP, directory=plan_folder(call, plan), by="/loop", config=call.config, at=call.at
    )
    loop = Loops(call.store).get(approved.approval.loop or "") if approved.approval is not None else None
    name = "" if loop is None else loop.name
    return f"The user typed /loop, and the loop {escape(name)} has started for the plan [{plan.id}]. {_ONLY_SAY}"


def cancel(call: SessionCall, arguments: str) -> str:
    """Cancel the loop that is named, or the only one that runs."""
    loops, wanted = Loops(call.store), arguments.strip()
    running = [loop for loop in loops.list(call.client.project) if not loop.state.has_ended]
    if wanted:
        loop = loops.find(wanted, call.client.project)
    elif len(running) == 1:
        loop = running[0]
    elif not running:
        return f"The user typed /cancel-loop, and no loop is open in this project. {_ONLY_SAY}"
    else:
        lines = [f"- {escape(loop.name)}: {describe_phase(loop, loops.last_step(loop))}" for loop in running]
        return join_lines(
            f"The user typed /cancel-loop, and {len(running)} loops are open. Show them these lines, and that"
            " `/cancel-loop NAME` cancels one; do nothing else.",
            *lines,
        )
    cancelled = cancel_loop(call.store, loop, at=call.at)
    return f"The user typed /cancel-loop, and the loop {escape(cancelled.name)} is cancelled. {_ONLY_SAY}"


def _newest(call: SessionCall, plans: Plans) -> Plan | None:
    own = plans.newest(PlanStatus.SUBMITTED, PlanStatus.DRAFT, session=call.session)
    return own or plans.newest(PlanStatus.SUBMITTED)


def _quote(plans: Plans, plan: Plan) -> str:
    return escape(redact(plans.text(plan))[0])
