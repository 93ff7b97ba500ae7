"""Takes back memories of messages that the user has undone in OpenCode or retracted, so that no model sees them.

This is an undo in the log: a memory that was replaced comes back, and ``redo`` reverses it. A memory that was
changed since, for example edited or pinned, stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, NotFoundError
from opencode_memory.learning.rejections import redo_of_memory, undo
from opencode_memory.models import HistoryEntry, Memory, Trust
from opencode_memory.text.emails import mask_emails

if TYPE_CHECKING:
    from opencode_memory.learning.extraction.candidate import Candidate
    from opencode_memory.store.memory_store import MemoryStore

_MACHINES: Final = frozenset({Trust.EXTRACTED, Trust.AGENT})
UNDO_KINDS: Final = frozenset({"undo", "redo"})
_UPKEEP: Final = "upkeep:"
_TEXT_KINDS: Final = frozenset({"edit", "update"})
"""Changes that replace the text of a memory, and may leave its source as it was."""
Taken = tuple[str, int]
"""Id of a memory, and number of the operation that gave it the text of an undone message."""
_log: Final = logging.getLogger(__name__)


def list_stored(
    store: MemoryStore, session: str, messages: Collection[str], *, since: str | None = None
) -> list[tuple[Memory, int]]:
    """Return the memories that messages of a session stored, without those that were changed since.

    With each memory comes the number of the operation that stored its text.

    Args:
        store: The store.
        session: The session.
        messages: Ids of its messages.
        since: Its first undone message; None if there is none.
    """
    found = []
    has_any = messages or since is not None
    for id_ in store.learning.find_from_messages(session, [*messages], since=since) if has_any else ():
        try:
            memory = store.get(id_)
            if (operation := _find_operation(store, memory)) is not None:
                found.append((memory, operation))
        except NotFoundError as error:
            _log.debug("a memory of an undone message is gone: %s", error)
    return found


def take_back(store: MemoryStore, found: Iterable[Taken]) -> Iterator[Taken]:
    """Undo operations of memories, the last one first, and yield those that were undone.

    A memory that an undone one had replaced comes back, so an undone message may have stored one of the memories that
    are active afterwards.
    """
    for taken in reversed([*found]):
        id_, operation = taken
        try:
            # Another process may have taken it back already, or the user may have edited the memory just now.
            undo(store, id_, operation=operation)
        except (NotFoundError, ConflictError) as error:
            _log.info("memory %s of an undone message stays: %s", id_, error)
        else:
            yield taken


def take_back_retracted(store: MemoryStore, session: str, retracted: Collection[Candidate]) -> None:
    """Take back the memories of statements that the user has retracted after they were stored."""
    said = {(candidate.message, mask_emails(candidate.content)) for candidate in retracted}
    stored = list_stored(store, session, {message for message, _ in said})
    found = [(memory.id, operation) for memory, operation in stored if (memory.source.message, memory.content) in said]
    for id_, _ in take_back(store, found):
        _log.debug("memory %s was retracted", id_)


def bring_back(store: MemoryStore, found: Iterable[Taken]) -> None:
    """Redo what ``take_back`` has undone, the last one first."""
    for id_, operation in reversed([*found]):
        try:
            redo_of_memory(store, id_, operation)
        except (NotFoundError, ConflictError) as error:
            _log.info("memory %s of a redone message stays away: %s", id_, error)


def find_taken(store: MemoryStore, taken: Taken) -> Memory | None:
    """Return a memory with the text of the undone message; None if its history is gone."""
    id_, operation = taken
    try:
        changes = [change for change in store.history(id_) if change.operation == operation]
    except NotFoundError:
        return None
    return changes[-1].after if changes else None


def is_last(store: MemoryStore, taken: Taken) -> bool:
    """Return whether an operation made the last change of a memory, apart from what the program did by itself."""
    id_, operation = taken
    try:
        changes = _list_changes(store, id_)
    except NotFoundError:
        return False
    return bool(changes) and changes[-1].operation == operation


def _list_changes(store: MemoryStore, id_: str) -> list[HistoryEntry]:
    """Return the changes that hold, apart from what the program did by itself, for example to a duplicate."""
    return [
        change
        for change in store.history(id_)
        if not change.undone and change.kind not in UNDO_KINDS and not change.kind.startswith(_UPKEEP)
    ]


def _find_operation(store: MemoryStore, memory: Memory) -> int | None:
    """Return the last operation that gave a memory its text; None if another writer has changed it since its message.

    Several texts may be from one message: an agent stores a topic twice, or edits what it has stored.
    """
    changes = _list_changes(store, memory.id)
    source = (memory.source.session, memory.source.message)
    for change in reversed(changes):
        if change.actor not in _MACHINES:
            break
        if change.before is None or (change.before.source.session, change.before.source.message) != source:
            return changes[-1].operation
        if change.kind not in _TEXT_KINDS:
            break
    return None
