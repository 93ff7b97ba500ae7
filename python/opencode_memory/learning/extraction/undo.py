"""Undo: what the state of a session keeps of messages that the user has undone. Does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.extraction.injected_text import hash_triples
from opencode_memory.learning.extraction.session_state import SessionState


def apply_undo(state: SessionState, undone: UndoneMessages) -> SessionState:
    """Return the state after an undo or a redo.

    Candidates of messages that can be redone are held: they become no memories, and a redo makes them pending again.
    Those of messages that are undone for good are forgotten, so that the same statement can be proposed again.
    """
    known = (*state.pending, *state.held)
    gone = [candidate for candidate in known if candidate.message in undone.removed]
    left = [candidate for candidate in known if candidate.message not in undone.removed]
    state = replace(
        forget_proposed(state, (candidate.content for candidate in gone)),
        pending=tuple(candidate for candidate in left if not _is_held(candidate, undone.since)),
        held=tuple(candidate for candidate in left if _is_held(candidate, undone.since)),
    )
    topics = {candidate.topic for candidate in gone} - {candidate.topic for candidate in left}
    return _forget_goal(_forget_blockers(state, topics), undone.removed)


def forget_proposed(state: SessionState, texts: Iterable[str]) -> SessionState:
    """Return the state without the hashes of some statements, so that each of them can be proposed again."""
    gone = frozenset(triple for text in texts for triple in hash_triples(text))
    return replace(state, proposed=tuple(triple for triple in state.proposed if triple not in gone))


def _is_held(candidate: Candidate, since: str | None) -> bool:
    return since is not None and candidate.message >= since


def _forget_blockers(state: SessionState, topics: Collection[str | None]) -> SessionState:
    return replace(state, blockers=tuple(one for one in state.blockers if one[0] not in topics))


def _forget_goal(state: SessionState, removed: Collection[str]) -> SessionState:
    return replace(state, goal="", goal_from="") if state.goal_from in removed else state
