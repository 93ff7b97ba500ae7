"""Handles messages that the user undoes: findings wait or are forgotten, and stored memories are taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.undo import (
    apply_undo,
    find_removed_end,
    forget_messages,
    forget_statements,
    go_back,
    split_pending,
)
from opencode_memory.learning.session_writes import name_message, retry_on_conflict
from opencode_memory.learning.take_back import list_stored, take_back
from opencode_memory.store.learning_state import Batch

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import UndoneMessages
    from opencode_memory.store.memory_store import MemoryStore


def note_undone(store: MemoryStore, session: str, undone: UndoneMessages, *, project: str | None) -> tuple[str, ...]:
    """Forget what was found in messages that were removed after an undo, and take back what they stored.

    What was found in messages that can be redone waits. The state names the removed messages until the last note of the
    undo. So the next note goes on where a process has died, and takes back a memory that came back in between.

    Args:
        store: The store.
        session: The session.
        undone: The messages.
        project: The project of the session; None if it has none.

    Returns:
        Ids of the memories that were taken back.

    Raises:
        BusyError: Other processes write the same session all the time.
    """

    def note() -> tuple[str, ...]:
        version, stored = store.learning.open(session)
        before = SessionState.from_json(stored)
        state = apply_undo(before, undone)
        memories = [memory for memory, _ in list_stored(store, session, state.removed)]
        state = forget_statements(
            state,
            (memory.content for memory in memories),
            (memory.topic for memory in memories if memory.topic),
        )
        if state != before or memories:
            # A reader that has read the messages before must not process them any more.
            names = [name_message(session, message) for message in state.removed]
            # A process may have died before it took the memories back. The next note must not count them down again.
            forms: dict[str, list[object]] = {}
            for memory in memories:
                name = f"unseen:{session}:{memory.source.message}"
                forms.setdefault(name, []).append(memory.metadata.get("seen_as"))
            names += forms
            known = store.learning.are_processed(names)
            fresh = [name for name, is_known in zip(names, known, strict=True) if not is_known]
            store.learning.write(
                Batch(
                    session=session,
                    version=version,
                    state=state.trim().to_json(),
                    processed=fresh,
                    sightings=[
                        (project, form, -1) for name in fresh for form in forms.get(name, ()) if isinstance(form, str)
                    ],
                )
            )
        return state.removed

    def close() -> None:
        version, stored = store.learning.open(session)
        state = SessionState.from_json(stored)
        if state.undone_since is None:
            left = tuple(message for message in state.removed if message not in removed)
            store.learning.write(Batch(session=session, version=version, state=replace(state, removed=left).to_json()))

    # The state comes first. If the process dies in between, the next note takes the memories back.
    removed = retry_on_conflict(note, session)
    taken = take_back(store, session, removed)
    if removed:
        retry_on_conflict(close, session)
    return taken


def forget_missing(store: MemoryStore, session: str, existing: Callable[[], frozenset[str]]) -> None:
    """Forget what was found, and is not stored yet, in messages that OpenCode has removed, and the work since.

    A message counts as removed only if a later one exists. A copy of a database has no newer ones.

    Args:
        store: The store.
        session: The session.
        existing: Returns the ids of the messages that exist; called only if the state has messages.

    Raises:
        BusyError: Other processes write the same session all the time.
    """

    def attempt() -> None:
        version, stored = store.learning.open(session)
        state = SessionState.from_json(stored)
        waiting = frozenset(candidate.message for candidate in state.pending if candidate.message)
        known = waiting.union(turn.message for turn in state.turns)
        present = existing() if known else known
        missing = frozenset(message for message in known - present if message < max(present, default=""))
        end = find_removed_end(state, missing)
        gone = [message for message in missing if message in waiting or (end is not None and message >= end)]
        left = forget_messages(state if end is None else go_back(state, end), gone)
        if left != state:
            store.learning.write(Batch(session=session, version=version, state=left.to_json()))

    retry_on_conflict(attempt, session)


def find_undone_since(store: MemoryStore, session: str) -> str | None:
    """Return the id of the first undone message in the stored state, or None if no message is undone."""
    return SessionState.from_json(store.learning.open(session)[1]).undone_since


def has_pending(store: MemoryStore, session: str) -> bool:
    """Return whether anything that was found in a session, and is not undone, is not stored yet."""
    ready, _ = split_pending(SessionState.from_json(store.learning.open(session)[1]))
    return bool(ready)
