"""Messages that the user undoes: what was found in them waits or is forgotten, and what they stored is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.undo import apply_undo, forget_messages, forget_statements, list_undone
from opencode_memory.learning.session_writes import name_message, retry_on_conflict
from opencode_memory.learning.take_back import list_stored, take_back
from opencode_memory.store.learning_state import Batch

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.events import UndoneMessages
    from opencode_memory.store.memory_store import MemoryStore


def note_undone(store: MemoryStore, session: str, undone: UndoneMessages, *, project: str | None) -> tuple[str, ...]:
    """Hold or forget what was found in messages that the user has undone, and take back what they stored.

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

    def attempt() -> frozenset[str]:
        version, stored = store.learning.open(session)
        before = SessionState.from_json(stored)
        gone = list_undone(before, undone)
        memories = list_stored(store, session, gone)
        state = forget_statements(
            apply_undo(before, undone),
            (memory.content for memory in memories),
            (memory.topic for memory in memories if memory.topic),
        )
        if state != before or gone:
            forms = (memory.metadata.get("seen_as") for memory in memories)
            # A reader that has read the messages before must not process them any more.
            names = [name_message(session, message) for message in sorted(gone)]
            known = store.learning.are_processed(names)
            store.learning.write(
                Batch(
                    session=session,
                    version=version,
                    state=state.to_json(),
                    processed=[name for name, is_known in zip(names, known, strict=True) if not is_known],
                    sightings=[(project, form, -1) for form in forms if isinstance(form, str)],
                )
            )
        return gone

    # The state comes first. If the process dies in between, the memories stay, and the same words can be learned again.
    return take_back(store, session, retry_on_conflict(attempt, session))


def forget_missing(store: MemoryStore, session: str, existing: Callable[[], frozenset[str]]) -> None:
    """Forget what was found, and is not stored yet, in messages that OpenCode has removed.

    A message counts as removed only if a later one exists. A copy of a database has no newer ones.

    Args:
        store: The store.
        session: The session.
        existing: Returns the ids of the messages that exist; called only if something is not stored yet.

    Raises:
        BusyError: Other processes write the same session all the time.
    """

    def attempt() -> None:
        version, stored = store.learning.open(session)
        state = SessionState.from_json(stored)
        known = frozenset(candidate.message for candidate in (*state.pending, *state.held) if candidate.message)
        present = existing() if known else known
        missing = frozenset(message for message in known - present if message < max(present, default=""))
        if missing:
            left = forget_messages(state, missing)
            store.learning.write(Batch(session=session, version=version, state=left.to_json()))

    retry_on_conflict(attempt, session)


def has_pending(store: MemoryStore, session: str) -> bool:
    """Return whether anything that was found in a session, and is not undone, is not stored yet."""
    return bool(SessionState.from_json(store.learning.open(session)[1]).pending)
