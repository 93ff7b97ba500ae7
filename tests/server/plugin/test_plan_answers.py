"""Approval of a plan by the answer to a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencode_memory.loops.approve import LABELS
from opencode_memory.plans import Mode, Plan, Plans, PlanStatus
from opencode_memory.server.client_project import ClientProjects
from opencode_memory.server.plugin.handlers import PluginContext
from opencode_memory.server.plugin.plan_answers import Answered, PlanQuestions
from opencode_memory.text import clock
from plans.test_text import PLAN
from support.bridge import Plugin, until
from support.mcp import Resident, World


@pytest.fixture
def context(world: World, folder: Path) -> PluginContext:
    world.state.projects.ensure(folder)
    return PluginContext(world.state, ClientProjects(world.state, None), folder)


@pytest.fixture
def plan(context: PluginContext) -> Plan:
    plans = Plans(context.server.store, context.project)
    return plans.submit(plans.write(PLAN, at=clock.now(), session="ses_1").plan)


def asked(*labels: object, session: str = "ses_1") -> dict[str, Any]:
    options = [{"label": label, "description": ""} for label in labels or LABELS]
    properties = {"id": "que_1", "sessionID": session, "questions": [{"question": "How?", "options": options}]}
    return {"type": "question.asked", "properties": properties}


def replied(label: str, session: str = "ses_1") -> dict[str, Any]:
    properties = {"requestID": "que_1", "sessionID": session, "answers": [[label]]}
    return {"type": "question.replied", "properties": properties}


def status(context: PluginContext, plan: Plan) -> PlanStatus:
    return Plans(context.server.store, context.project).get(plan.id).status


@pytest.mark.parametrize("label", ["New session", "Execute here"])
def test_answer_approves_the_plan_of_its_session_once(context: PluginContext, plan: Plan, label: str) -> None:
    questions = PlanQuestions()
    assert questions.take(context, {"events": [asked(), replied(label)]}) == [Answered(plan=plan.id)]
    approved = Plans(context.server.store, context.project).get(plan.id)
    assert approved.status is PlanStatus.APPROVED
    assert approved.approval is not None
    assert (approved.approval.mode, approved.approval.by) == (LABELS[label], "question in OpenCode")
    assert not questions.take(context, {"events": [replied(label)]})


def test_answer_that_cannot_be_carried_out_is_told(world: World, server: Resident, folder: Path, plan: Plan) -> None:
    with Plugin(server.url, folder) as plugin:
        plugin.happens(asked(), replied("Loop"))
        until(lambda: bool(plugin.opencode.toasts))
    [toast] = plugin.opencode.toasts
    assert f"The plan [{plan.id}] is not approved" in toast
    assert "has no commit yet" in toast
    assert f"opencode-memory plan approve {plan.id}" in toast


@pytest.mark.parametrize(
    "events",
    [
        [replied("New session")],
        [asked("New session", "Red", "Blue"), replied("New session")],
        [asked("New session"), replied("New session")],
        [asked(*LABELS, "More"), replied("New session")],
        [asked(), replied("Something else")],
        [asked(session="ses_2"), replied("New session")],
        [asked(session="ses_2"), replied("New session", session="ses_2")],
        [{"type": "question.asked", "properties": {"id": "que_1", "questions": None}}, replied("New session")],
        [asked(["New session"]), replied("New session")],
        [{"type": "question.asked"}, 3, None],
    ],
)
def test_other_answers_approve_nothing(context: PluginContext, plan: Plan, events: list[Any]) -> None:
    assert not PlanQuestions().take(context, {"events": events})
    assert status(context, plan) is PlanStatus.SUBMITTED


@pytest.mark.parametrize("params", [None, [], {}, {"events": {}}, {"events": "x"}])
def test_damaged_events_approve_nothing(context: PluginContext, plan: Plan, params: Any) -> None:
    assert not PlanQuestions().take(context, params)
    assert status(context, plan) is PlanStatus.SUBMITTED


def test_every_mode_has_a_label() -> None:
    assert set(LABELS.values()) == set(Mode)
