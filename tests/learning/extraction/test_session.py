"""Whole sessions: blockers and their resolution, summaries, and a small state that is stored as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.learning.extraction.blockers import OpenBlocker
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Feedback,
    SessionEnd,
    ToolCall,
    UserText,
)
from opencode_memory.learning.extraction.session import Known, end, step
from opencode_memory.learning.extraction.session_state import CopiedWork, Failure, SessionState, Turn
from opencode_memory.models import Category
from support.learning import (
    BLOCKED,
    LEDGER,
    SESSION,
    UNBLOCKED,
    agent,
    bash,
    edit,
    fail,
    filter_category,
    find_candidates,
    message,
    messages,
    replace_own,
    run_steps,
    user,
)

STORE_TAKES = 512 * 1024
"""Bytes of a state that the store takes."""


def test_blocker_and_its_resolution_share_a_topic():
    (one,) = find_candidates(user(BLOCKED))
    known = Known((OpenBlocker(one.topic, one.content),))

    state, _ = step(SESSION, SessionState(), message("x", user(UNBLOCKED)), known)

    (over,) = state.pending
    assert over.topic == one.topic
    assert over.tags == ("resolved",)
    assert BLOCKED.rstrip(".") in over.content
    assert UNBLOCKED in over.content


@pytest.mark.parametrize(
    "text",
    [
        "Did the AWS credentials arrive?",
        "We still wait until the AWS credentials arrived.",
        "The database migration is done now.",
        "I will ask for the AWS credentials.",
    ],
)
def test_blocker_stays_open_without_a_resolution(text):
    known = Known((OpenBlocker("learned:blocker:x", BLOCKED),))

    state, _ = step(SESSION, SessionState(), message("x", user(text)), known)

    assert [one for one in state.pending if "resolved" in one.tags] == []


def test_blocker_resolved_in_the_same_batch_is_resolved():
    told = filter_category(find_candidates(user(BLOCKED), agent("ok"), user(UNBLOCKED)), Category.BLOCKER)

    assert "resolved" in told[-1].tags


def test_summary_has_goal_outcome_files_commands_and_open_problems():
    told = find_candidates(
        user("Make the import faster."), edit(), bash("make check"), fail("pytest"), agent("It is faster now.")
    )
    (one,) = filter_category(told, Category.CONVERSATION)

    for part in ("Make the import faster", "It is faster now", "src/app.py", "make check", "pytest", "boom"):
        assert part in one.content
    assert one.topic == f"session:{SESSION.id}"


@pytest.mark.parametrize(
    "events",
    [
        (user("What is a monad?"), agent("A monoid.")),
        (user("What is here?"), bash("ls"), agent("Files.")),
        (edit(), bash("make")),
        (),
    ],
)
def test_session_without_work_has_no_summary(events):
    assert filter_category(find_candidates(*events), Category.CONVERSATION) == []


def test_fork_without_own_messages_has_no_summary():
    state, _ = run_steps(messages(user("Make it faster."), edit()))

    assert filter_category(end(SESSION, replace_own(state, 0), at_ms=1)[1], Category.CONVERSATION) == []


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
candidates = st.builds(
    Candidate,
    category=st.sampled_from(Category),
    content=words,
    confidence=st.floats(0, 1),
    rule=words,
    evidence=words,
    at_ms=st.integers(0, 1 << 50),
    topic=st.none() | words,
    normal_form=st.none() | words,
    tags=st.lists(words, max_size=2).map(tuple),
    is_persons=st.booleans(),
)
failures = st.builds(
    Failure,
    command=words,
    complaints=st.lists(words, max_size=2).map(tuple),
    files=st.lists(words, max_size=2).map(tuple),
    change=words,
)
states = st.builds(
    SessionState,
    goal=words,
    outcome=words,
    action=words,
    offer=words,
    offered_ago=st.integers(0, 9),
    pretending=st.booleans(),
    failures=st.lists(st.tuples(words, failures), max_size=3).map(tuple),
    passed=st.lists(st.tuples(words, st.integers(1, 9)), max_size=3).map(tuple),
    files=st.lists(words, max_size=3).map(tuple),
    copied=st.none()
    | st.builds(
        CopiedWork,
        latest=words,
        passed=st.lists(st.tuples(words, st.integers(1, 9)), max_size=3).map(tuple),
        failing=st.lists(words, max_size=3).map(tuple),
    ),
    own_files=st.lists(words, max_size=3).map(tuple),
    pending=st.lists(candidates, max_size=3).map(tuple),
    released=st.lists(candidates, max_size=3).map(tuple),
    injected=st.lists(st.integers(0, 1 << 32), max_size=3).map(tuple),
    proposed=st.lists(st.integers(0, 1 << 32), max_size=3).map(tuple),
    own=st.integers(0, 9),
)


@given(state=states)
def test_state_round_trips_through_json(state):
    assert SessionState.from_json(state.to_json()) == state


def test_empty_json_gives_a_new_state():
    assert SessionState.from_json("{}") == SessionState()


events = st.one_of(
    st.builds(UserText, text=st.sampled_from([LEDGER, BLOCKED, UNBLOCKED, "scratch that", "2", "go on"]) | words),
    st.builds(AssistantText, text=st.sampled_from(["1. use a\n2. use b?", "It turns out that it is slow."]) | words),
    st.builds(
        ToolCall,
        tool=st.sampled_from(["bash", "edit", "memory_recall", "read"]),
        input=st.sampled_from([{"command": "make"}, {"filePath": "/a.py", "oldString": "a", "newString": "b"}, {}]),
        exit=st.sampled_from([0, 1, None]),
        output=words,
    ),
    st.builds(Feedback, tool=st.just("bash"), input=st.just({"command": "npm i"}), text=words),
    st.builds(Compaction, summary=words),
    st.just(SessionEnd()),
)


@given(happened=st.lists(events, max_size=12))
def test_split_session_gives_the_same_candidates(happened):
    told = messages(*happened)
    whole_state, whole = run_steps(told)

    state, ready = SessionState(), []
    for one in told:
        state, more = run_steps([one], SessionState.from_json(state.to_json()))
        ready += more

    assert (state, ready) == (whole_state, whole)


@given(happened=st.lists(events, max_size=12))
def test_any_candidate_has_text_evidence_and_a_rule(happened):
    for one in find_candidates(*happened):
        assert one.content.strip()
        assert one.rule
        assert 0 <= one.confidence <= 1
        assert len(one.content) <= 2_500
        json.dumps(one.as_json())


def test_state_of_a_long_session_stays_small():
    state = SessionState()
    for number in range(1_000):
        told = messages(
            user(f"We decided to use system number {number} for part {number} of the ledger."),
            fail(f"runner{number} go", f"E   ValueError: {number}"),
            edit(f"src/module_{number}.py"),
            bash(f"make part{number}"),
            ToolCall(tool="memory_recall", input={}, output=f"Known thing {number} is about thing {number + 1}."),
            of=str(number),
        )
        state, _ = run_steps(told, state)

    assert len(state.to_json().encode()) < STORE_TAKES / 2
    assert len(state.pending) <= 60
    assert len(state.failures) <= 12
    assert len(state.files) <= 40


def test_edits_during_failures_do_not_grow_the_state():
    told = messages(
        *[fail(f"runner{number} go") for number in range(12)],
        *[edit(f"src/some/folder/module_{number}.py") for number in range(1_500)],
    )

    assert len(run_steps(told)[0].to_json().encode()) < STORE_TAKES


def test_state_with_long_commands_and_paths_fits_the_store():
    told = messages(
        *[fail(f"runner{number} {'é' * 19_000}") for number in range(12)],
        *[edit(f"src/{number}/{'ü' * 5_000}.py") for number in range(40)],
    )

    assert len(run_steps(told)[0].to_json().encode()) < STORE_TAKES


def work_of_turns(*, changes: bool) -> SessionState:
    """The state after twelve turns, in each of which the agent edits files, while twelve commands fail."""
    told = [fail(f"runner{number} {'é' * 400}") for number in range(12)]
    for turn in range(12):
        told.append(user(f"Try again, attempt {turn}."))
        told += [edit(f"src/{'ü' * 400}/{number}_{turn if changes else 0}.py") for number in range(10)]
    return run_steps(messages(*told))[0]


def test_failures_that_last_for_many_turns_are_stored_once():
    state = work_of_turns(changes=False)

    stored = state.to_json()

    assert len(state.turns) == 10
    assert stored.count('"command"') <= 2 * len(state.failures)
    assert SessionState.from_json(stored) == state


def test_turns_that_do_not_fit_the_store_are_left_out():
    state = work_of_turns(changes=True)

    stored = SessionState.from_json(state.to_json())

    assert len(state.to_json().encode()) < STORE_TAKES
    assert 0 < len(stored.turns) < len(state.turns)
    assert stored == replace(state, turns=state.turns[-len(stored.turns) :])


def test_turns_that_an_earlier_version_stored_keep_their_failures():
    failure = Failure(command="make", complaints=("no rule",))
    turn = {"message": "m", "failures": [("make", asdict(failure))]}

    state = SessionState.from_json(json.dumps({"turns": [turn]}))

    assert state.turns == (Turn(message="m", failures=(("make", failure),)),)
    assert SessionState.from_json(state.to_json()) == state


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        (["Added the retry to the importer.", "You're welcome."], "Added the retry to the importer."),
        (["Added the retry to the importer.", "Perfect! Let's commit and push."], "Added the retry to the importer."),
        (["Done. The importer is now twice as fast."], "The importer is now twice as fast."),
        (["Added a retry.", "Let me check whether the tests pass."], "Added a retry."),
    ],
)
def test_outcome_is_the_last_answer_that_reports_work(answers, outcome):
    told = find_candidates(user("Make the import faster."), edit(), *map(agent, answers))
    (one,) = filter_category(told, Category.CONVERSATION)

    assert f"Outcome: {outcome}" in one.content.split("\n")


def test_summary_leaves_out_a_pasted_error_and_a_courtesy():
    told = find_candidates(
        user("ValueError: invalid literal for int()"), edit(), agent("You're welcome."), bash("make")
    )

    assert filter_category(told, Category.CONVERSATION) == []


@pytest.mark.parametrize(
    "asked", ["Good morning, where did we stop on Friday?", "Hey, let's continue where we stopped", "What did we do?"]
)
def test_goal_is_the_first_message_with_a_task_of_its_own(asked):
    told = find_candidates(user(asked), agent("At the import."), user("Make the import faster."), edit(), bash("make"))
    (one,) = filter_category(told, Category.CONVERSATION)
    assert "Goal: Make the import faster" in one.content


def test_summary_masks_email_addresses():
    told = find_candidates(user("Send the report to ann@example.com daily."), edit())
    (one,) = filter_category(told, Category.CONVERSATION)

    assert "ann@example.com" not in one.content + one.evidence
