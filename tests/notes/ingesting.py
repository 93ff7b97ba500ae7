"""Helpers that ingest notes and read their memories."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

from opencode_memory import Memory, MemoryStore
from opencode_memory.notes.folder import IngestReport, ingest


def run(store: MemoryStore, path: Path, top: Path | None = None, **options: bool) -> IngestReport:
    return ingest(store, path, top=top or path, zone=UTC, **options)


def by_topic(store: MemoryStore, status: str = "active") -> dict[str | None, Memory]:
    return {memory.topic: memory for memory in store.list(status=status, limit=1000)}
