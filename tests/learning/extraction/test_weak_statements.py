"""Weak statements: plain sentences that need two other sessions or an active memory that they change."""

from __future__ import annotations

import pytest

from opencode_memory.learning.admission import admit
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.weak_statements import LONGEST_MESSAGE, MOST_PER_MESSAGE
from opencode_memory.models import Status
from support.learning import find_candidates, user

PORT = "The staging server listens on port 8090."


def weak(text: str) -> list[Candidate]:
    return [one for one in find_candidates(user(text)) if one.is_weak]


def test_plain_sentence_is_a_weak_candidate():
    (one,) = weak(PORT)

    assert (one.needs_sessions, one.needs_subject, one.content) == (2, True, PORT)
    assert Candidate.from_json(one.as_json()) == one


def test_weak_candidate_needs_two_sessions_or_a_changed_memory():
    (one,) = weak(PORT)

    assert [admit(one, elsewhere=number) for number in range(4)] == [None, None, Status.ACTIVE, Status.ACTIVE]
    assert admit(one, elsewhere=0, changes_active=True) is Status.ACTIVE


def test_short_sentence_counts_only_if_it_changes_a_memory():
    (one,) = weak("the port is 8090")

    assert (one.needs_sessions, one.needs_subject) == (0, True)
    assert admit(one, elsewhere=9) is None


@pytest.mark.parametrize(
    "text",
    [
        "Is the staging server on port 8090?",
        "ok thanks",
        "The staging server is broken again on port 8090.",
        "maybe the staging server listens on port 8090",
        "change this file so that it listens on port 8090",
        f"{PORT} {'Read on. ' * (LONGEST_MESSAGE // 9)}",
        "you go on with the server on port 8090",
        "I tried the staging server on port 8090",
        "Le serveur de test est sur le port 8090 depuis hier.",
    ],
    ids=["question", "short", "complaint", "guess", "at hand", "long message", "to the agent", "report", "french"],
)
def test_other_sentence_is_no_weak_candidate(text):
    assert weak(text) == []


@pytest.mark.parametrize(
    "opening",
    [
        "That's wrong:",
        "No, that's not true,",
        "Wrong –",
        "Incorrect;",
        "Not quite:",
        "You're wrong,",
        "Your memory is outdated:",
        "That’s no longer true,",
    ],
)
def test_words_that_correct_the_agent_are_left_out(opening: str) -> None:
    (one,) = weak(f"{opening} the staging server listens on port 8090.")

    assert (one.content, one.is_remark) == (PORT, False)


@pytest.mark.parametrize(
    "text", ["That's wrong, the page hangs.", "Wrong: is it 8090?", "That's wrong: port 8090 fails again."]
)
def test_complaint_and_question_behind_a_correction_are_no_weak_candidates(text: str) -> None:
    assert weak(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The move to port 8090 did not happen, so it is 8080 again.",
        "Starting today the staging server listens on port 8090.",
    ],
    ids=["complaint", "at hand"],
)
def test_sentence_that_may_be_about_an_earlier_statement_is_a_remark(text):
    (one,) = weak(text)

    assert one.is_remark
    assert (one.needs_sessions, one.needs_subject, one.normal_form) == (0, False, None)


def test_sentence_with_a_path_is_not_counted():
    (one,) = weak("Continue with the plan of /home/ann/shop/plans/import.md in the usual way.")

    assert (one.needs_sessions, one.needs_subject) == (0, True)


def test_prompt_of_many_sentences_is_not_counted():
    told = " ".join(f"The module number {number} belongs to team number {number}." for number in range(9))

    assert [one.needs_sessions for one in weak(told)] == [0] * MOST_PER_MESSAGE
