"""Forks: separates a fork's own work from the work of the messages that it copied. Does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opencode_memory.learning.extraction.session_state import CopiedWork, SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWork:
    """What a session did itself.

    Attributes:
        outcome: The agent's last report of work; empty if a copied message holds it.
        files: Edited files, the last one first.
        passed: Commands that succeeded.
        has_failed: Whether a command fails that did not fail in the copied messages.
    """

    outcome: str
    files: tuple[str, ...]
    passed: tuple[str, ...]
    has_failed: bool


def begin_own_work(state: SessionState) -> SessionState:
    """Return the state before the first own message of a session. If it holds copied messages, their work is noted."""
    if state.own or not state.latest:
        return state
    failing = tuple(key for key, _ in state.failures)
    return replace(state, copied=CopiedWork(latest=state.latest, passed=state.passed, failing=failing), own_files=())


def find_own_work(state: SessionState) -> OwnWork:
    """Return what a session did itself, without what it copied from the session that it was forked from."""
    copied = state.copied
    if copied is None:
        passed = tuple(key for key, _ in state.passed)
        return OwnWork(outcome=state.outcome, files=state.files, passed=passed, has_failed=bool(state.failures))
    before = dict(copied.passed)
    return OwnWork(
        outcome=state.outcome if state.outcome_from > copied.latest else "",
        files=state.own_files,
        passed=tuple(key for key, times in state.passed if times > before.get(key, 0)),
        has_failed=any(key not in copied.failing for key, _ in state.failures),
    )


def has_copied_goal(state: SessionState) -> bool:
    """Return whether the request of a session is that of the session that it was forked from."""
    return state.copied is not None and state.goal_from <= state.copied.latest
