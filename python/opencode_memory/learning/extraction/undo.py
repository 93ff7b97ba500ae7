"""Undo: what the state of a session keeps of messages that the user has undone. Does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from itertools import takewhile
from typing import Any

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.extraction.injected_text import add_texts, hash_triples
from opencode_memory.learning.extraction.session_state import SessionState, Turn

_Passed = tuple[tuple[str, int], ...]
"""Number of successes of each command."""


def apply_undo(state: SessionState, undone: UndoneMessages) -> SessionState:
    """Return the state after an undo, a redo, or the end of both.

    Candidates of messages that can be redone are kept. Those of messages that were removed after an undo are forgotten,
    so that the same statement can be proposed again. Messages that were removed without an undo were removed by another
    program, and count further.
    """
    since = state.undone_since if undone.keeps_since else undone.since
    # The note of an undo and that of the removal may come as one.
    removed = [one for one in undone.removed if is_undone(one, state.undone_since) or is_undone(one, since)]
    return replace(
        forget_messages(go_back(state, min(removed)) if removed else state, removed),
        undone_since=since,
        removed=tuple(dict.fromkeys((*state.removed, *removed))),
    )


def begin_turn(state: SessionState, message: str) -> SessionState:
    """Note the work of the session before a message of the user."""
    turn = Turn(message=message, **_work_of(state))
    return replace(state, turns=(*state.turns, turn))


def go_back(state: SessionState, message: str) -> SessionState:
    """Return the state with the work before a message, which is removed with all later ones.

    The work before a message from long ago is unknown. Then no file is named, because an undone one could be.
    """
    if message > state.latest:
        return state
    turns = tuple(turn for turn in state.turns if turn.message <= message)
    before = turns[-1] if turns else Turn(message=message)
    # A fork may go back to a message that it copied, so that it copied less work.
    copied = state.copied and replace(state.copied, passed=_take_least(state.copied.passed, before.passed))
    had_outcome = state.outcome_from >= message
    return replace(
        state,
        **_work_of(before),
        copied=copied,
        turns=turns[:-1],
        outcome="" if had_outcome else state.outcome,
        outcome_from="" if had_outcome else state.outcome_from,
        action="",
        offer="",
    )


def _take_least(passed: _Passed, before: _Passed) -> _Passed:
    times = dict(before)
    return tuple((key, min(count, times.get(key, 0))) for key, count in passed)


def _work_of(kept: SessionState | Turn) -> dict[str, Any]:
    """Return what a turn and the state of a session both keep of the work, by the names of the fields."""
    return {one.name: getattr(kept, one.name) for one in fields(Turn) if one.name != "message"}


def find_removed_end(state: SessionState, missing: Collection[str]) -> str | None:
    """Return the first of the missing messages at the end of a state; None if its last message of the user is there.

    Another program may remove earlier messages, for example to shorten a session. The work since then counts further.
    """
    last = [turn.message for turn in takewhile(lambda turn: turn.message in missing, reversed(state.turns))]
    return last[-1] if last else None


def split_pending(state: SessionState) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the pending candidates that may become memories, and those that wait because their message is undone."""
    since = state.undone_since
    ready = tuple(candidate for candidate in state.pending if not is_undone(candidate.message, since))
    return ready, tuple(candidate for candidate in state.pending if is_undone(candidate.message, since))


def forget_messages(state: SessionState, messages: Collection[str]) -> SessionState:
    """Return the state without what some messages said: their candidates, their request, and their role play.

    What they had retracted is proposed again.
    """
    gone = [candidate for candidate in state.pending if candidate.message in messages]
    state = forget_statements(
        state, (candidate.content for candidate in gone), (candidate.topic for candidate in gone if candidate.topic)
    )
    back = [one for by, one in state.retracted if by in messages and one.message not in messages]
    had_goal = state.goal_from in messages
    is_pretending = state.pretending and state.pretending_from not in messages
    return replace(
        state,
        pending=(*(candidate for candidate in state.pending if candidate.message not in messages), *back),
        released=tuple(candidate for candidate in state.released if candidate.message not in messages),
        retracted=tuple((by, one) for by, one in state.retracted if by not in messages),
        proposed=add_texts(state.proposed, (candidate.content for candidate in back)),
        goal="" if had_goal else state.goal,
        goal_from="" if had_goal else state.goal_from,
        pretending=is_pretending,
        pretending_from=state.pretending_from if is_pretending else "",
    )


def forget_statements(state: SessionState, texts: Iterable[str], topics: Iterable[str] = ()) -> SessionState:
    """Return the state without the hashes of some statements, so that each can be proposed again, and their blockers."""
    gone = frozenset(triple for text in texts for triple in hash_triples(text))
    over = frozenset(topics)
    return replace(
        state,
        proposed=tuple(triple for triple in state.proposed if triple not in gone),
        blockers=tuple((topic, text) for topic, text in state.blockers if topic not in over),
    )


def is_undone(message: str, since: str | None) -> bool:
    """Return whether a message is undone. Ids of later messages are greater."""
    return since is not None and message >= since
