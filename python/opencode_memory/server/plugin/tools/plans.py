"""Tools for plans: write one, offer it to the user, and learn how it was approved."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from opencode_memory.errors import InvalidInputError
from opencode_memory.loops.approve import LABELS
from opencode_memory.plans import Plan, Plans, PlanStatus, Written
from opencode_memory.server.answers import Answer, join_lines
from opencode_memory.server.call import SessionCall
from opencode_memory.server.toolbox import tool
from opencode_memory.text.display import one_line


@tool(name="memory-plan")
def memory_plan(
    call: SessionCall,
    action: Literal["write", "edit", "read", "submit"],
    text: str | None = None,
    old: str | None = None,
    new: str | None = None,
    plan: str | None = None,
) -> Answer:
    """A plan in Markdown that the user approves: write it, edit it (old becomes new), read it, submit it."""
    plans = Plans(call.store, call.client.project)
    by = call.agent or "agent"
    if action == "write":
        folder = str(call.client.folders[0]) if call.client.folders else None
        return _answer(plans.write(_require(text, "text"), at=call.at, by=by, session=call.session, directory=folder))
    found = find_plan(call, plans, plan)
    if action == "edit":
        return _answer(plans.edit(found, old=_require(old, "old"), new=new or "", at=call.at, by=by))
    if action == "read":
        remark = None if found.remark is None else f"The user sent it back: {one_line(found.remark, 2_000)}"
        return Answer(join_lines(_head(found), remark, plans.text(found)), {"plan": found.id, "status": found.status})
    return offer(plans.submit(found))


@tool(name="memory-plan-execute")
def memory_plan_execute(call: SessionCall, plan: str | None = None) -> Answer:
    """Have the plan carried out in a new session, once the user has approved it."""
    plans = Plans(call.store, call.client.project)
    return offer(_submit(plans, find_plan(call, plans, plan)))


def find_plan(call: SessionCall, plans: Plans, part: str | None) -> Plan:
    """Return the named plan, or the newest of the session.

    Raises:
        InvalidInputError: The session has none.
    """
    if part is not None:
        return plans.get(part)
    newest = plans.newest(*PlanStatus, session=call.session)
    if newest is None:
        raise InvalidInputError("plan: this session has no plan yet; write one with memory-plan", field="plan")
    return newest


def offer(plan: Plan) -> Answer:
    """Tell the agent how the user approves a plan."""
    data = {"plan": plan.id, "status": plan.status}
    if plan.status is not PlanStatus.SUBMITTED:
        return Answer(_head(plan), data)
    labels = ", ".join(f'"{label}"' for label in LABELS)
    return Answer(
        join_lines(
            f"{_head(plan)} Only the user can approve it.",
            f"If you have the tool question, ask once: one question, with the options {labels} and no others. The"
            " server acts on the answer, so end your turn after it.",
            f"Otherwise end your turn, and say that `opencode-memory plan approve {plan.id}` approves it.",
        ),
        data,
    )


def _submit(plans: Plans, plan: Plan) -> Plan:
    return plans.submit(plan) if plan.status is PlanStatus.DRAFT else plan


def _answer(written: Written) -> Answer:
    plan, problems = written.plan, written.text.problems
    secrets = f"Secrets were left out: {', '.join(written.redactions)}." if written.redactions else None
    missing = None if not problems else "\n".join(("Before it can be submitted:", *(f"- {line}" for line in problems)))
    ready = None if problems else "It is complete: submit it with action=submit."
    return Answer(
        join_lines(_head(plan), secrets, missing, ready),
        {"plan": plan.id, "status": plan.status, "problems": list(problems)},
    )


def _head(plan: Plan) -> str:
    how = "" if plan.approval is None else f" ({plan.approval.mode})"
    return f"Plan [{plan.id}] {one_line(plan.title, 120)}: {plan.status}{how}, version {plan.text_version}."


def _require(value: str | None, name: str) -> str:
    if value is None:
        raise InvalidInputError(f"{name}: is required for this action", field=name)
    return value


def plan_folder(call: SessionCall, plan: Plan) -> Path:
    """Return the folder in which a plan is carried out."""
    if plan.directory is not None:
        return Path(plan.directory)
    return call.client.folders[0] if call.client.folders else Path()
