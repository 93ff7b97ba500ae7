"""Retention: the traces of deleted memories go, so that no table grows with deletions."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from opencode_memory import MemoryStore
from support.stores import DAY_MS, NOW_MS, set_clock

_TABLES = ("embedding", "link", "use_count", "history")


def count_rows(store: MemoryStore) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{store.data_dir / 'store.db'}?mode=ro", uri=True)) as connection:
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _TABLES}


def test_traces_of_deleted_memories_are_dropped(store: MemoryStore) -> None:
    ids = [store.remember(f"walrus {number}").id for number in range(20)]
    store.indexes.embed_pending()
    store.link(ids[0], ids[1])
    store.note_uses(ids)
    store.maintain()
    before = count_rows(store)
    assert (before["embedding"], before["use_count"], before["history"]) == (20, 20, 20)
    assert before["link"] >= 1

    store.delete(ids[:15])
    store.maintain()
    # An undo may still bring the memories back, so only their vectors go, which can be computed again.
    assert count_rows(store) == before | {"embedding": 5, "history": 35}
    store.undo(ids[14])
    assert store.indexes.embed_pending() == 1

    set_clock(store, NOW_MS + 31 * DAY_MS)
    store.maintain()
    after = count_rows(store)
    assert (after["embedding"], after["use_count"]) == (6, 6)
    assert {link.source for link in store.links(["related"])} == set()
    assert store.indexes.verify().ok
