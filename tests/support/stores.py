"""Stores for tests: a standing clock, no threads, and short ways to say what came back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import opencode_memory
from opencode_memory import Hit, Memory, MemoryStore
from opencode_memory._core import Engine
from opencode_memory.embedding.base import Embedder
from opencode_memory.store.embedder_choice import EmbedderChoice
from opencode_memory.store.embedding_queue import EmbeddingQueue
from support.embedders import WordEmbedder

NOW_MS = 1_790_000_000_000
"""The moment at which the clock of every test store stands: 2026-09-21T14:13:20Z."""

SECOND_MS = 1000
DAY_MS = 86_400_000


def open_store(folder: Path, **options: Any) -> MemoryStore:
    """Open a store without threads, at ``NOW_MS``, with an embedder that needs no model."""
    defaults = {"embedder": WordEmbedder(), "background": False, "clock_ms": NOW_MS}
    return opencode_memory.open(folder, **(defaults | options))


def rename_unchecked(folder: Path, old: str, new: str) -> None:
    """Give a project of a closed store a name that only earlier versions allowed."""
    with closing(sqlite3.connect(folder / "store.db")) as connection, connection:
        connection.execute("UPDATE project SET name = ? WHERE name = ?", (new, old))


def set_clock(store: MemoryStore, now_ms: int) -> None:
    """Let the store's clock stand at another moment."""
    store._engine.set_clock(now_ms)


def texts(found: Iterable[Hit | Memory]) -> list[str]:
    """The texts of hits or memories, in their order."""
    return [one.memory.content if isinstance(one, Hit) else one.content for one in found]


def recalled(store: MemoryStore, query: str, **options: Any) -> list[str]:
    """The texts that answer a query, best first."""
    return texts(store.recall(query, **options))


def files_holding(folder: Path, needle: str | bytes) -> list[str]:
    """Names of all files under a folder whose bytes contain a text, whatever the file is."""
    wanted = needle.encode() if isinstance(needle, str) else needle
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if wanted in path.read_bytes()]


def bound_store(engine: Engine, *, project: str | None, embedder: Embedder) -> MemoryStore:
    """Return a store over an engine with options that ``open`` does not have."""
    queue = EmbeddingQueue(engine, engine.data_dir, choice=EmbedderChoice(engine, embedder), in_background=False)
    return MemoryStore(engine, queue, project=project, zone=None)
