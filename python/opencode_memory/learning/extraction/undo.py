"""Undo: what the state of a session keeps of messages that the user has undone. Does no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import UndoneMessages
from opencode_memory.learning.extraction.injected_text import hash_triples
from opencode_memory.learning.extraction.session_state import SessionState


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
        forget_messages(state, removed),
        undone_since=since,
        removed=tuple(dict.fromkeys((*state.removed, *removed))),
    )


def split_pending(state: SessionState) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the pending candidates that may become memories, and those that wait because their message is undone."""
    since = state.undone_since
    ready = tuple(candidate for candidate in state.pending if not is_undone(candidate.message, since))
    return ready, tuple(candidate for candidate in state.pending if is_undone(candidate.message, since))


def forget_messages(state: SessionState, messages: Collection[str]) -> SessionState:
    """Return the state without the candidates and the request of some messages, and the role play that one began."""
    gone = [candidate for candidate in state.pending if candidate.message in messages]
    state = forget_statements(
        state, (candidate.content for candidate in gone), (candidate.topic for candidate in gone if candidate.topic)
    )
    had_goal = state.goal_from in messages
    is_pretending = state.pretending and state.pretending_from not in messages
    return replace(
        state,
        pending=tuple(candidate for candidate in state.pending if candidate.message not in messages),
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
