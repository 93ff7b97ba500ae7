"""Helpers that ingest notes and read their memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from pathlib import Path

from opencode_memory import Memory, MemoryStore
from opencode_memory.notes.folder import IngestReport, ingest


def run(store: MemoryStore, path: Path, top: Path | None = None, **options: bool) -> IngestReport:
    return ingest(store, path, top=top or path, zone=UTC, **options)


def states(store: MemoryStore) -> dict[str | None, Memory]:
    """The active memories by topic, without what an undo sets anew."""
    found = by_topic(store)
    return {topic: replace(memory, key=0, updated_at=memory.created_at) for topic, memory in found.items()}


def by_topic(store: MemoryStore, status: str = "active") -> dict[str | None, Memory]:
    return {memory.topic: memory for memory in store.list(status=status, limit=1000)}
