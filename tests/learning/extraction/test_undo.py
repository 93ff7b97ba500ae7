"""Undo in the state of a session: candidates of undone messages wait, and take nothing with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.extraction.session import end
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.undo import apply_undo
from opencode_memory.models import Category
from support.learning import SESSION, bash, edit, fail, filter_category, messages, run_steps


@pytest.fixture
def solutions() -> SessionState:
    """Return a state with two pending solutions on the same topic, the second from a later message."""
    state, _ = run_steps(messages(fail("pytest"), edit(), bash("pytest")))
    [found] = filter_category(state.pending, Category.SOLUTION)
    earlier, later = replace(found, message="msg_1"), replace(found, message="msg_2", content="Another solution.")
    return replace(state, pending=(earlier, later))


def list_ready(state: SessionState) -> list[Candidate]:
    _, ready = end(SESSION, state, at_ms=9_000)
    return filter_category(ready, Category.SOLUTION)


def test_later_of_two_candidates_with_the_same_topic_wins(solutions: SessionState) -> None:
    assert [one.message for one in list_ready(solutions)] == ["msg_2"]


def test_undone_candidate_does_not_replace_the_earlier_one(solutions: SessionState) -> None:
    undone = apply_undo(solutions, UndoneMessages(since="msg_2"))
    assert [one.message for one in list_ready(undone)] == ["msg_1"]


def test_redone_candidate_replaces_the_earlier_one(solutions: SessionState) -> None:
    undone = apply_undo(solutions, UndoneMessages(since="msg_2"))
    redone = apply_undo(undone, UndoneMessages(since=None))
    assert [one.message for one in list_ready(redone)] == ["msg_2"]


def test_waiting_candidate_is_kept_when_others_are_released(solutions: SessionState) -> None:
    undone = apply_undo(solutions, UndoneMessages(since="msg_2"))
    left, _ = end(SESSION, undone, at_ms=9_000)
    assert [one.message for one in left.pending] == ["msg_2"]
