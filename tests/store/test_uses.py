"""Uses of a memory: requested recalls and memories that an agent used."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from opencode_memory import MemoryStore


def uses(store: MemoryStore) -> dict[str, int]:
    return {memory.content: count for memory, count in store.most_used(since="2000-01-01")}


def test_only_requested_recalls_count_as_use(store: MemoryStore) -> None:
    store.remember("The walrus is built with make.")
    assert len(store.recall("walrus", unasked=True)) == 1
    assert uses(store) == {}
    store.recall("walrus")
    assert uses(store) == {"The walrus is built with make.": 1}


def test_usefulness_ignores_deleted_memories(store: MemoryStore) -> None:
    kept = store.remember("The walrus is built with make.").id
    gone = store.remember("The seal is built with ninja.").id
    store.delete([gone])
    store.note_uses([kept, kept, gone])
    assert uses(store) == {"The walrus is built with make.": 2}


def test_store_that_a_newer_version_upgraded_is_closed_with_a_warning(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.remember("The walrus is built with make.")
    store.recall("walrus")
    with closing(sqlite3.connect(store.data_dir / "store.db")) as newer:
        newer.execute("PRAGMA user_version = 99")
        store.close()
    [message] = [record.getMessage() for record in caplog.records if record.name.endswith("store.closing")]
    assert "the last uses of memories were not counted" in message
    assert "format 99 is newer" in message
