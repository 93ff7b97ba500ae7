"""Handles messages that the user undoes: findings wait or are forgotten, and stored memories are taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.undo import (
    apply_undo,
    find_removed_end,
    forget_messages,
    forget_statements,
    go_back,
    is_undone,
    split_pending,
)
from opencode_memory.learning.session_writes import name_message, retry_on_conflict
from opencode_memory.learning.take_back import Taken, bring_back, find_taken, is_last, list_stored, take_back
from opencode_memory.store.learning_state import Batch

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.candidate import Candidate
    from opencode_memory.learning.extraction.events import UndoneMessages
    from opencode_memory.models import Memory
    from opencode_memory.store.memory_store import MemoryStore

_MOST_STEPS: Final = 100
"""Rounds in which memories are taken back; each one shows what the memories of the last round had replaced."""


def note_undone(store: MemoryStore, session: str, undone: UndoneMessages, *, project: str | None) -> tuple[str, ...]:
    """Take back the memories of undone messages, and forget the findings of messages that OpenCode has removed.

    A redo brings the memories back, and the findings of messages that can be redone wait. The state names the removed
    messages and the memories until the undo is final. So the next note goes on where a process has died, and takes back
    a memory that came back in between.

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
    taken: dict[str, None] = {}
    kept: set[Taken] = set()
    # A memory that an undone one had replaced comes back, and a memory may have got several texts from undone messages.
    for _ in range(_MOST_STEPS):
        # The state comes first. If the process dies in between, the next note takes the memories back.
        state, found = retry_on_conflict(lambda: _note(store, session, undone, project, kept), session)
        done = [*take_back(store, found)]
        kept.update(found)
        kept.difference_update(done)
        taken.update(dict.fromkeys(id_ for id_, _ in done))
        if not found:
            _settle(store, session, state)
            break
    return tuple(taken)


def _note(
    store: MemoryStore, session: str, undone: UndoneMessages, project: str | None, kept: Collection[Taken]
) -> tuple[SessionState, list[Taken]]:
    """Write the state after an undo; return it, and the memories to take back that are not kept, the oldest first."""
    version, stored = store.learning.open(session)
    before = SessionState.from_json(stored)
    state = apply_undo(before, undone)
    since = state.undone_since if undone.is_certain else None
    found = [
        (memory, operation)
        for memory, operation in list_stored(store, session, state.removed, since=since)
        if (memory.id, operation) not in kept
    ]
    active = [(memory.id, operation) for memory, operation in found]
    active += [
        change
        for change, message in _name_writers(state).items()
        if change not in kept
        and change not in active
        and (message in state.removed or is_undone(message, since))
        and is_last(store, change)
    ]
    active.sort(key=lambda change: change[1])
    versions = [memory for memory, _ in found]
    versions += [
        memory for change in state.taken if change not in active and (memory := find_taken(store, change)) is not None
    ]
    gone = [memory for memory in versions if memory.source.message in state.removed]
    state = forget_statements(
        state,
        (memory.content for memory in gone),
        (memory.topic for memory in gone if memory.topic),
    )
    state = replace(state, taken=tuple(dict.fromkeys((*state.taken, *active))))
    if state != before or gone:
        store.learning.write(_forget(store, session, version, state, gone, project))
    return state, active


def _forget(
    store: MemoryStore, session: str, version: int, state: SessionState, gone: Iterable[Memory], project: str | None
) -> Batch:
    """Return the batch that forgets removed messages, and counts down the sightings of their statements."""
    # A reader that has read the messages before must not process them any more.
    names = [name_message(session, message) for message in state.removed]
    # A process may have died before it took the memories back. The next note must not count them down again.
    forms: dict[str, list[object]] = {}
    for memory in gone:
        name = f"unseen:{session}:{memory.source.message}"
        forms.setdefault(name, []).append(memory.metadata.get("seen_as"))
    names += forms
    known = store.learning.are_processed(names)
    fresh = [name for name, is_known in zip(names, known, strict=True) if not is_known]
    return Batch(
        session=session,
        version=version,
        state=state.trim().to_json(),
        processed=fresh,
        sightings=[(project, form, -1) for name in fresh for form in forms.get(name, ()) if isinstance(form, str)],
    )


def _settle(store: MemoryStore, session: str, state: SessionState) -> None:
    """Bring back what messages stored that were redone, and forget what was undone for good."""
    there = [change for change, message in _name_sources(store, state).items() if _is_there(state, message)]
    bring_back(store, there)
    over = {*there, *(state.taken if state.undone_since is None else ())}
    if not over and (state.undone_since is not None or not state.removed):
        return

    def close() -> None:
        version, stored = store.learning.open(session)
        now = SessionState.from_json(stored)
        removed, written = now.removed, now.written
        if now.undone_since is None:
            removed = tuple(message for message in removed if message not in state.removed)
            written = tuple(change for change in written if change[0] not in state.removed)
        taken = tuple(change for change in now.taken if change not in over)
        left = replace(now, removed=removed, written=written, taken=taken)
        store.learning.write(Batch(session=session, version=version, state=left.to_json()))

    retry_on_conflict(close, session)


def _name_writers(state: SessionState) -> dict[Taken, str]:
    """Return the message of each change that the agent's tools made."""
    return {(id_, operation): message for message, id_, operation in state.written}


def _name_sources(store: MemoryStore, state: SessionState) -> dict[Taken, str | None]:
    """Return the message that stored or changed each memory that was taken back; None if its history is gone."""
    writers = _name_writers(state)
    sources: dict[Taken, str | None] = {}
    for change in state.taken:
        memory = find_taken(store, change)
        sources[change] = writers.get(change, None if memory is None else memory.source.message)
    return sources


def _is_there(state: SessionState, message: str | None) -> bool:
    """Return whether a message is neither undone nor removed."""
    return message is not None and message not in state.removed and not is_undone(message, state.undone_since)


def forget_missing(store: MemoryStore, session: str, existing: Callable[[], frozenset[str]]) -> None:
    """Forget what was found, and is not stored yet, in messages that OpenCode has removed, and the work since.

    A memory that such a message stored, and that an undo has taken back, does not come back.

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
        taken = frozenset(message for message in _name_sources(store, state).values() if message is not None)
        known = waiting.union(taken, (turn.message for turn in state.turns))
        present = existing() if known else known
        missing = frozenset(message for message in known - present if message < max(present, default=""))
        end = find_removed_end(state, missing)
        gone = [message for message in missing if message in waiting or (end is not None and message >= end)]
        left = forget_messages(state if end is None else go_back(state, end), gone)
        left = replace(left, removed=tuple(dict.fromkeys((*left.removed, *sorted(taken & missing)))))
        if left != state:
            store.learning.write(Batch(session=session, version=version, state=left.to_json()))

    retry_on_conflict(attempt, session)


def is_settled(store: MemoryStore, session: str, since: str | None) -> bool:
    """Return whether the stored state names this first undone message, and a redo has brought back everything."""
    state = SessionState.from_json(store.learning.open(session)[1])
    return state.undone_since == since and not (since is None and state.taken)


def find_pending(store: MemoryStore, session: str) -> tuple[Candidate, ...]:
    """Return what was found in a session, and is not undone, but is not stored yet."""
    ready, _ = split_pending(SessionState.from_json(store.learning.open(session)[1]))
    return ready
