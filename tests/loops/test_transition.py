"""The rules of a loop, each row of the table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.loops.model import Limits, Loop, LoopState, Place, Rest, Spent, Step, StepKind, StepState, Trouble
from opencode_memory.loops.transition import Facts, Move, advance, resume

AT = datetime(2026, 3, 1, tzinfo=UTC)
LOOP = Loop(
    id="0123abcd",
    name="parser",
    project="shop",
    plan="89abcdef",
    directory="/shop",
    place=Place.WORKTREE,
    commands=("make test",),
    sections=1,
    limits=Limits(iterations=15, seconds=3600.0, tokens=1000, cost=1.0),
    created_at=AT,
    iteration=1,
    tree="t1",
)


def after(kind: StepKind, loop: Loop = LOOP, findings: tuple[str, ...] = (), **outcome: Any) -> Move:
    step = Step(
        loop=loop.id, number=1, kind=kind, iteration=1, section=1, started_at=AT, state=StepState.DONE, outcome=outcome
    )
    return advance(loop, step, Facts(open_findings=findings))


def audited(verdict: str | None = "clean", loop: Loop = LOOP, findings: tuple[str, ...] = (), tree: str = "t1") -> Move:
    return after(StepKind.AUDIT, loop, findings, result="done", verdict=verdict, tree=tree)


def test_loop_begins_with_the_preparation() -> None:
    assert advance(LOOP, None, Facts()).kind is StepKind.PREPARE


def test_preparation_leads_to_code_or_ends_the_loop() -> None:
    begun = after(StepKind.PREPARE, replace(LOOP, iteration=0), exit=0)
    assert (begun.kind, begun.loop.iteration) == (StepKind.CODE, 1)
    failed = after(StepKind.PREPARE, exit=1, said="npm ci failed")
    assert (failed.kind, failed.loop.state) == (None, LoopState.FAILED)
    assert "npm ci failed" in failed.loop.reason


@pytest.mark.parametrize(
    ("result", "kind", "state", "rest"),
    [
        ("done", StepKind.CHECK, LoopState.RUNNING, None),
        ("failed", None, LoopState.FAILED, None),
    ],
)
def test_result_of_a_coding_turn(result: str, kind: StepKind | None, state: LoopState, rest: Rest | None) -> None:
    move = after(StepKind.CODE, result=result, said="it broke")
    assert (move.kind, move.loop.state, move.loop.rest) == (kind, state, rest)


@pytest.mark.parametrize(("code", "asks"), [(127, True), (126, True), (1, False)])
def test_command_that_cannot_be_run_twice_asks_the_person(code: int, asks: bool) -> None:
    ran: dict[str, Any] = {"exit": code, "command": "pytest", "output": "sh: 1: pytest: not found"}
    first = after(StepKind.CHECK, tree="t2", **ran)
    assert first.kind is StepKind.CODE
    second = after(StepKind.CHECK, first.loop, tree="t3", **ran)
    assert (second.kind, second.loop.state) == (
        (None, LoopState.WAITING) if asks else (StepKind.CODE, LoopState.RUNNING)
    )
    if asks:
        assert f"the command pytest cannot be run (exit {code})" in second.loop.reason
        assert after(StepKind.CHECK, resume(second.loop), tree="t3", **ran).kind is StepKind.CODE
    other = after(StepKind.CHECK, first.loop, tree="t3", **ran | {"output": "sh: 1: mypy: not found"})
    assert other.kind is StepKind.CODE


def test_words_of_a_model_end_nothing() -> None:
    move = after(StepKind.CODE, result="done", text="COMPLETE <promise>DONE</promise>", note="verdict: clean")
    assert move.kind is StepKind.CHECK


def test_green_check_leads_to_an_audit_and_a_red_one_to_code() -> None:
    assert after(StepKind.CHECK, exit=0, tree="t1").kind is StepKind.AUDIT
    red = after(StepKind.CHECK, exit=1, tree="t1", output="1 failed")
    assert (red.kind, red.loop.iteration) == (StepKind.CODE, 2)


def test_loop_without_audits_goes_on_after_a_green_check() -> None:
    assert after(StepKind.CHECK, replace(LOOP, audits=False), exit=0, tree="t1").kind is StepKind.FINAL_CHECK


def test_changed_tree_needs_an_audit_of_its_own() -> None:
    move = after(StepKind.CHECK, replace(LOOP, clean_audits=1, min_audits=2), exit=0, tree="t2")
    assert (move.loop.tree, move.loop.clean_audits) == ("t2", 0)


def test_clean_audit_leads_to_the_final_check() -> None:
    assert audited().kind is StepKind.FINAL_CHECK


def test_open_finding_outweighs_a_clean_verdict() -> None:
    move = audited("clean", findings=("f1",))
    assert (move.kind, move.loop.clean_audits) == (StepKind.CODE, 0)


def test_dirty_verdict_without_findings_leads_to_code() -> None:
    assert audited("dirty").kind is StepKind.CODE


def test_audit_without_verdict_ends_the_loop() -> None:
    assert audited(None).loop.state is LoopState.FAILED


def test_files_changed_during_the_audit_are_checked_again() -> None:
    assert audited(tree="t2").kind is StepKind.CHECK


def test_required_audits_are_made() -> None:
    loop = replace(LOOP, min_audits=2)
    first = audited(loop=loop)
    assert first.kind is StepKind.AUDIT
    assert audited(loop=first.loop).kind is StepKind.FINAL_CHECK


def test_next_section_follows_a_clean_audit() -> None:
    move = audited(loop=replace(LOOP, sections=2, clean_audits=0))
    assert (move.kind, move.loop.section, move.loop.iteration) == (StepKind.CODE, 2, 2)
    last = audited(loop=replace(LOOP, sections=2, section=2))
    assert last.kind is StepKind.FINAL_CHECK


def test_finding_reported_three_times_waits_for_the_person() -> None:
    move = audited("dirty", findings=("f1",))
    for tree in ("t2", "t3"):
        move = audited("dirty", loop=replace(move.loop, tree=tree), findings=("f1",), tree=tree)
    assert (move.loop.state, move.loop.rest) == (LoopState.WAITING, Rest.PROGRESS)
    assert "[f1] was reported 3 times" in move.loop.reason


def test_same_complaint_about_the_same_files_waits_for_the_person() -> None:
    move = after(StepKind.CHECK, exit=1, tree="t1", output="1 failed in 0.31 s")
    for seconds in (0.32, 0.33):
        move = after(StepKind.CHECK, move.loop, exit=1, tree="t1", output=f"1 failed in {seconds} s")
        assert move.kind is StepKind.CODE
    move = after(StepKind.CHECK, move.loop, exit=1, tree="t1", output="1 failed in 0.34 s")
    assert (move.kind, move.loop.rest) == (None, Rest.PROGRESS)


def test_same_complaint_of_the_final_check_waits_for_the_person() -> None:
    loop = LOOP
    for _ in range(3):
        move = after(StepKind.FINAL_CHECK, loop, exit=1, output="no module named secrets")
        assert move.kind is StepKind.CODE
        loop = audited(loop=after(StepKind.CHECK, move.loop, exit=0, tree="t1").loop).loop
    move = after(StepKind.FINAL_CHECK, loop, exit=1, output="no module named secrets")
    assert (move.kind, move.loop.rest) == (None, Rest.PROGRESS)
    assert "3 coding steps changed nothing" in move.why


def test_other_complaint_or_other_files_are_progress() -> None:
    move = after(StepKind.CHECK, exit=1, tree="t1", output="a fails")
    for number in range(6):
        move = after(StepKind.CHECK, move.loop, exit=1, tree="t1", output="ab"[number % 2] + " fails")
        assert move.kind is StepKind.CODE
        move = after(StepKind.CHECK, move.loop, exit=1, tree=f"t{number + 2}", output="a fails")
        assert move.kind is StepKind.CODE


def test_final_check_finishes_or_leads_back_to_code() -> None:
    assert after(StepKind.FINAL_CHECK, exit=0).kind is StepKind.FINISH
    assert after(StepKind.FINAL_CHECK, exit=2, output="missing file").kind is StepKind.CODE


def test_finish_completes_the_loop() -> None:
    move = after(StepKind.FINISH, said="done on branch loop/parser")
    assert (move.kind, move.loop.state, move.loop.reason) == (None, LoopState.COMPLETED, "done on branch loop/parser")


@pytest.mark.parametrize("audits", [True, False])
def test_section_is_not_skipped_when_a_loop_is_resumed_at_a_limit(audits: bool) -> None:
    def succeed(loop: Loop) -> Move:
        return audited(loop=loop) if audits else after(StepKind.CHECK, loop, exit=0, tree="t1")

    at_limit = replace(LOOP, sections=3, section=1, iteration=15, audits=audits)
    rested = succeed(at_limit)
    assert (rested.kind, rested.loop.rest, rested.loop.section) == (None, Rest.LIMIT, 1)
    resumed = replace(resume(rested.loop), limits=replace(LOOP.limits, iterations=20))
    assert (succeed(resumed).kind, succeed(resumed).loop.section) == (StepKind.CODE, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"iteration": 15}, "15 iterations"),
        ({"spent": Spent(seconds=3600)}, "1 h"),
        ({"spent": Spent(input=900, output=100, cached=10_000)}, "1,000 tokens"),
        ({"spent": Spent(cost=1.5)}, r"$1"),
    ],
)
def test_reached_limit_pauses_before_the_next_code(change: dict[str, Any], said: str) -> None:
    loop = replace(LOOP, **change)
    move = after(StepKind.CHECK, loop, exit=1, tree="t1", output="x")
    assert (move.kind, move.loop.state, move.loop.rest) == (None, LoopState.PAUSED, Rest.LIMIT)
    assert said in move.loop.reason
    # The last iteration is still checked and audited.
    assert after(StepKind.CODE, loop, result="done").kind is StepKind.CHECK
    assert after(StepKind.CHECK, loop, exit=0, tree="t1").kind is StepKind.AUDIT
    assert audited(loop=loop).kind is StepKind.FINAL_CHECK


@pytest.mark.parametrize("state", [state for state in LoopState if state is not LoopState.RUNNING])
def test_loop_that_does_not_run_moves_nowhere(state: LoopState) -> None:
    move = after(StepKind.CHECK, replace(LOOP, state=state), exit=0, tree="t1")
    assert (move.kind, move.loop.state) == (None, state)


def test_resumed_loop_begins_its_counts_anew() -> None:
    trouble = Trouble(kind=StepKind.CHECK, said="x", tree=None)
    stuck = replace(LOOP, state=LoopState.WAITING, rest=Rest.PROGRESS, stalls=3, trouble=trouble, complaints={"f1": 3})
    again = resume(stuck)
    assert (again.state, again.rest, again.stalls, again.complaints) == (LoopState.RUNNING, None, 0, {})
    assert again.trouble is None


OUTCOMES = st.one_of(
    st.builds(lambda exit_code: (StepKind.CHECK, {"exit": exit_code, "tree": "t1", "output": "x"}), st.integers(0, 1)),
    st.builds(lambda tree: (StepKind.CHECK, {"exit": 0, "tree": tree}), st.sampled_from(["t1", "t2"])),
    st.builds(
        lambda verdict, tree: (StepKind.AUDIT, {"result": "done", "verdict": verdict, "tree": tree}),
        st.sampled_from(["clean", "dirty"]),
        st.sampled_from(["t1", "t2"]),
    ),
    st.just((StepKind.CODE, {"result": "done", "text": "DONE"})),
)


@given(st.lists(st.tuples(OUTCOMES, st.booleans()), max_size=60))
def test_no_history_completes_without_the_facts(history: list[tuple[tuple[StepKind, dict[str, Any]], bool]]) -> None:
    """Only a clean verdict about the checked files, without open findings, leads to the final check."""
    loop = LOOP
    for (kind, outcome), has_finding in history:
        before = loop
        move = after(kind, loop, ("f1",) if has_finding else (), **outcome)
        loop = move.loop
        assert loop.iteration <= loop.limits.iterations
        if move.kind is StepKind.FINAL_CHECK:
            assert kind is StepKind.AUDIT
            assert (outcome["verdict"], has_finding, outcome["tree"]) == ("clean", False, before.tree)
        if loop.state is not LoopState.RUNNING:
            break
