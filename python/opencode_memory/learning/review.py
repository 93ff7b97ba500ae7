"""The review of pending memories: uncertain learned ones, and directives that the user has not confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.learning.rejections import record_rejection
from opencode_memory.models import ALL_PROJECTS, Category, Memory, Status

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_PAGE: Final = 500
REPLACES: Final = "replaces"
"""Key of the metadata that names the memory whose new text a candidate proposes."""


def list_waiting(store: MemoryStore, *, everywhere: bool) -> Iterator[Memory]:
    """Yield the pending memories: candidates, and then active directives that the user has not confirmed."""
    project = ALL_PROJECTS if everywhere else None
    for status, category in ((Status.CANDIDATE, None), (Status.ACTIVE, Category.DIRECTIVE)):
        offset = 0
        while page := store.list(project=project, status=status, category=category, limit=_PAGE, offset=offset):
            offset += len(page)
            for memory in page:
                if status is Status.CANDIDATE or not memory.is_confirmed:
                    yield memory


def accept(store: MemoryStore, memory: Memory, content: str | None = None) -> Memory:
    """Accept a memory for the user: make it active and confirmed, with the user's text if given.

    A candidate that was proposed as the new text of another memory supersedes that memory. One undo takes both
    changes back.
    """
    store = store.in_one_operation()
    accepted = _activate(store, memory, content)
    old = _replaced_by(store, accepted)
    if old is None or memory.status is not Status.CANDIDATE:
        return accepted
    return store.merge([accepted.id, old.id], accepted.content)


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
    if content is not None:
        record_rejection(store, memory)
    changed = store.edit(memory.id, content=content, verified=True)
    if changed.status is not Status.CANDIDATE:
        return changed
    try:
        return store.restore(memory.id)[0]
    except ConflictError:
        # Another memory has its topic. The user accepts this one as well, so keep both and remove the topic here.
        store.edit(memory.id, topic=None)
        return store.restore(memory.id)[0]


def reject(store: MemoryStore, memory: Memory) -> Sequence[Memory]:
    """Archive a memory, and never learn the same statement again."""
    record_rejection(store, memory)
    return store.archive(memory.id, reason="rejected in a review")
