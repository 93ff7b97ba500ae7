"""The review of pending memories: uncertain learned ones, and directives that the user has not confirmed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.rejections import record_rejection, rejecting
from opencode_memory.models import ALL_PROJECTS, INGEST, Category, Memory, Status
from opencode_memory.store.pages import list_all

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

REPLACES: Final = "replaces"
"""Key of the metadata that names the memory whose new text a candidate proposes."""


def list_waiting(store: MemoryStore, *, everywhere: bool) -> Iterator[Memory]:
    """Yield the pending memories: candidates, and then active directives that the user has not confirmed."""
    project = ALL_PROJECTS if everywhere else None
    for status, category in ((Status.CANDIDATE, None), (Status.ACTIVE, Category.DIRECTIVE)):
        yield from filter(is_waiting, list_all(store, project=project, status=status, category=category))


def is_waiting(memory: Memory) -> bool:
    """Return whether a memory is pending: a candidate, or an active directive that the user has not confirmed."""
    return memory.status is Status.CANDIDATE or (memory.status is Status.ACTIVE and memory.is_withheld)


def version_of(memory: Memory) -> str:
    """Return a hash of what a review shows of a memory. A form carries it, so that a later version is not accepted."""
    shown = [memory.id, memory.key, memory.status, memory.category, memory.project, *memory.tags]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def check_version(memory: Memory, shown: str) -> None:
    """Refuse to decide on a memory if the user saw another version of it.

    Args:
        memory: The stored memory.
        shown: ``version_of`` the memory that the user saw.

    Raises:
        ConflictError: The memory was changed since.
    """
    if version_of(memory) != shown:
        raise _changed_since()


def accept(store: MemoryStore, memory: Memory, content: str | None = None) -> Memory:
    """Accept a memory for the user: make it active and confirmed, with the user's text if given.

    A candidate that was proposed as the new text of another memory supersedes that memory, and gets its topic, its
    reminders and its pin. One undo takes all changes back.

    Args:
        store: The store, which acts for the user.
        memory: The memory as the user saw it.
        content: The text that the user gave it; None to accept its own text.

    Raises:
        ConflictError: The memory was changed since the user saw it.
    """
    check_version(store.get(memory.id), version_of(memory))
    store = store.in_one_operation()
    old = _replaced_by(store, memory) if memory.status is Status.CANDIDATE else None
    accepted = _activate(store, memory, content)
    if old is None:
        return accepted
    if _replaced_by(store, memory) is not None:
        accepted = store.merge([accepted.id, old.id], accepted.content)
    elif not _is_superseded_by(store, old, accepted):
        return accepted
    return _take_over(store, accepted, old)


def _is_superseded_by(store: MemoryStore, old: Memory, accepted: Memory) -> bool:
    """Return whether the acceptance alone has superseded a memory, because both texts are on the same subject."""
    try:
        return store.get(old.id).superseded_by == accepted.id
    except NotFoundError:
        return False  # Another writer has deleted it meanwhile.


def _take_over(store: MemoryStore, accepted: Memory, old: Memory) -> Memory:
    """Give an accepted memory what belonged to the one that it supersedes, unless it has its own.

    Without the topic and the mark of its section, a note would no longer update or move the memory.
    """
    if accepted.topic is None and old.topic is not None:
        mark = {INGEST: old.metadata[INGEST]} if INGEST in old.metadata else {}
        store.edit(accepted.id, topic=old.topic, metadata={**mark, **accepted.metadata})
    if accepted.remind_at is None and old.remind_at is not None:
        store.reminders.set(accepted.id, old.remind_at, every_days=old.remind_every)
    if accepted.review_after is None and old.review_after is not None:
        store.reminders.set(accepted.id, old.review_after, every_days=old.review_every, is_review=True)
    if old.pinned and not accepted.pinned:
        store.pin(accepted.id)
    return store.get(accepted.id)


def _replaced_by(store: MemoryStore, memory: Memory) -> Memory | None:
    """Return the active memory of the same scope whose new text a memory was proposed as; None if there is none."""
    id_ = memory.metadata.get(REPLACES)
    try:
        old = store.get(id_) if isinstance(id_, str) else None
    except (NotFoundError, InvalidInputError, ConflictError):
        return None
    is_other = old is not None and old.id != memory.id and old.project == memory.project
    return old if is_other and old is not None and old.status is Status.ACTIVE else None


def _activate(store: MemoryStore, memory: Memory, content: str | None) -> Memory:
    changed = store.edit(memory.id, content=content, verified=True)
    if content is None:
        _refuse_other_text(store, changed, memory)
    else:
        # Only now, because the store may refuse the user's text.
        record_rejection(store, memory)
    if changed.status is not Status.CANDIDATE:
        return changed
    try:
        restored = store.restore(memory.id)[0]
    except ConflictError:
        # Another memory has its topic. The user accepts this one as well, so keep both and remove the topic here.
        store.edit(memory.id, topic=None)
        restored = store.restore(memory.id)[0]
    _refuse_other_text(store, restored, changed)
    return restored


def _refuse_other_text(store: MemoryStore, found: Memory, wanted: Memory) -> None:
    """Undo the last change if it accepted another text: an agent may change a memory between two steps."""
    if (found.content, found.category) != (wanted.content, wanted.category):
        store.undo(found.id)
        raise _changed_since()


def _changed_since() -> ConflictError:
    return ConflictError("the memory was changed since it was shown, so nothing was done; look again")


def reject(store: MemoryStore, memory: Memory) -> Sequence[Memory]:
    """Archive a memory, and never learn the same statement again.

    Args:
        store: The store, which acts for the user.
        memory: The memory as the user saw it.

    Raises:
        ConflictError: The memory was changed since the user saw it.
    """
    check_version(store.get(memory.id), version_of(memory))
    with rejecting(store, [memory.id]):
        return store.archive(memory.id, reason="rejected in a review")
