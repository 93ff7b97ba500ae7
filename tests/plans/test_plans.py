"""Plans: versions, submission, approval once, and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.plans import Approval, Mode, Plan, Plans, PlanStatus
from plans.test_text import PLAN

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def plans(tmp_path: Path) -> Iterator[Plans]:
    with opencode_memory.open(tmp_path / "store", background=False) as store:
        store.remember("The till is in the shop.", project="shop")
        yield Plans(store, "shop")


def approval(mode: Mode = Mode.NEW) -> Approval:
    return Approval(mode=mode, at=AT, by="command line")


def submitted(plans: Plans) -> Plan:
    return plans.submit(plans.write(PLAN, at=AT).plan)


def test_edit_replaces_one_place_literally_and_keeps_the_earlier_text(plans: Plans) -> None:
    plan = plans.write(PLAN, at=AT, by="architect").plan
    changed = plans.edit(plan, old="make test", new=r"make \1 $& test", at=AT, why="faster").plan
    assert r"make \1 $& test" in plans.text(changed)
    assert plans.text(changed, 1) == PLAN
    assert [(version.number, version.by, version.why) for version in plans.versions(changed)] == [
        (1, "architect", ""),
        (2, "user", "faster"),
    ]


@pytest.mark.parametrize(("old", "said"), [("nowhere", "does not occur"), ("Files", "occurs 2 times"), ("", "occur")])
def test_edit_needs_a_unique_place(plans: Plans, old: str, said: str) -> None:
    plan = plans.write(PLAN, at=AT).plan
    with pytest.raises(InvalidInputError, match=said):
        plans.edit(plan, old=old, new="x", at=AT)
    assert plans.get(plan.id).text_version == 1


def test_plan_with_problems_is_not_submitted(plans: Plans) -> None:
    plan = plans.write("# Something\n", at=AT).plan
    with pytest.raises(InvalidInputError, match="objective is missing"):
        plans.submit(plan)
    assert plans.get(plan.id).status is PlanStatus.DRAFT


def test_changed_plan_must_be_submitted_again(plans: Plans) -> None:
    plan = submitted(plans)
    assert plans.edit(plan, old="make lint", new="make check", at=AT).plan.status is PlanStatus.DRAFT


def test_approval_happens_once(plans: Plans) -> None:
    plan = submitted(plans)

    def approve(_: int) -> bool:
        try:
            plans.approve(plan, approval())
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(approve, range(4))) == 1
    approved = plans.get(plan.id)
    assert approved.status is PlanStatus.APPROVED
    assert plans.approve(approved, approval()) == approved
    with pytest.raises(ConflictError, match="approved before, as new"):
        plans.approve(approved, approval(Mode.LOOP))


def test_draft_cannot_be_approved(plans: Plans) -> None:
    with pytest.raises(ConflictError, match="is draft, not submitted"):
        plans.approve(plans.write(PLAN, at=AT).plan, approval())


def test_approved_plan_cannot_be_changed(plans: Plans) -> None:
    approved = plans.approve(submitted(plans), approval())
    with pytest.raises(ConflictError, match="can no longer be changed"):
        plans.rewrite(approved, PLAN, at=AT)


def test_plan_that_is_done_is_not_abandoned(plans: Plans) -> None:
    done = plans.finish(plans.approve(submitted(plans), approval()))
    with pytest.raises(ConflictError, match="is done, so it cannot be abandoned"):
        plans.abandon(done)


def test_plan_is_sent_back_with_a_remark(plans: Plans) -> None:
    back = plans.send_back(submitted(plans), "Leave the command line alone.")
    assert (back.status, back.remark) == (PlanStatus.DRAFT, "Leave the command line alone.")
    assert plans.submit(back).remark is None


def test_secrets_are_redacted(plans: Plans) -> None:
    written = plans.write(PLAN + "\nKey: AKIAIOSFODNN7EXAMPLB\n", at=AT)
    assert written.redactions
    assert "AKIAIOSFODNN7EXAMPLB" not in plans.text(written.plan)


def test_plan_of_another_project_is_not_found(plans: Plans, tmp_path: Path) -> None:
    plan = plans.write(PLAN, at=AT).plan
    with opencode_memory.open(tmp_path / "store", background=False) as store:
        for project in (None, "other"):
            assert Plans(store, project).list() == []
            with pytest.raises(NotFoundError):
                Plans(store, project).get(plan.id)


def test_plan_survives_a_restart(plans: Plans, tmp_path: Path) -> None:
    approved = plans.approve(submitted(plans), approval(Mode.LOOP))
    with opencode_memory.open(tmp_path / "store", background=False) as store:
        assert Plans(store, "shop").get(approved.id[:4]) == Plans(store, "shop").list()[0]
        assert Plans(store, "shop").get(approved.id).approval == approved.approval


@pytest.mark.parametrize("text", ["", "  \n", "x" * 200_001])
def test_text_must_have_a_length(plans: Plans, text: str) -> None:
    with pytest.raises(InvalidInputError, match="1 to 200,000"):
        plans.write(text, at=AT)
