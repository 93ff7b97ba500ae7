"""Blockers: resolved with the words of how, and reopened."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from opencode_memory.errors import ConflictError
from opencode_memory.models import RESOLVED, Category, Memory
from opencode_memory.text.formatting import short_id
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore


def resolve(store: MemoryStore, memory: Memory, resolution: str | None, *, at: datetime) -> Memory | None:
    """Mark a blocker as resolved.

    Args:
        store: The store.
        memory: The blocker.
        resolution: How it was resolved; None keeps earlier words.
        at: The current time.

    Returns:
        The changed memory; None if it was resolved in these words already.
    """
    how = (resolution or "").strip() or memory.metadata.get("resolution")
    if memory.is_resolved and how == memory.metadata.get("resolution"):
        return None
    metadata = {**memory.metadata, "resolved_at": to_json(at)}
    content = memory.content
    if how:
        metadata["resolution"] = how
        content = f"{_strip_resolution(memory)}\nResolved: {how}"
    tags = list(dict.fromkeys([*memory.tags, RESOLVED]))
    if memory.review_after is not None:
        # Before the edit, so that `undo` takes back the resolution.
        store.reminders.clear(memory.id, is_review=True)
    return store.edit(memory.id, content=content, tags=tags, metadata=metadata)


def reopen(store: MemoryStore, memory: Memory) -> Memory:
    """Mark a resolved blocker as a blocker again.

    Raises:
        ConflictError: It is not resolved.
    """
    if not memory.is_resolved:
        raise ConflictError(f"blocker [{short_id(memory.id)}] is not resolved")
    metadata = {name: value for name, value in memory.metadata.items() if name not in ("resolved_at", "resolution")}
    tags = [tag for tag in memory.tags if tag != RESOLVED]
    return store.edit(memory.id, content=_strip_resolution(memory), tags=tags, metadata=metadata)


def check(memory: Memory, *, hint: str) -> None:
    """Refuse a memory that is not a blocker.

    Args:
        memory: The memory.
        hint: What the caller can do instead.

    Raises:
        ConflictError: The memory is not a blocker.
    """
    if memory.category is not Category.BLOCKER:
        error = ConflictError(f"[{short_id(memory.id)}] is a {memory.category}, not a blocker")
        error.hint = hint
        raise error


def _strip_resolution(memory: Memory) -> str:
    resolution = memory.metadata.get("resolution")
    return memory.content.removesuffix(f"\nResolved: {resolution}") if isinstance(resolution, str) else memory.content
