"""Consolidation: what it proposes and archives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from opencode_memory import MemoryStore
from opencode_memory.maintenance import consolidation
from support.stores import NOW_MS

LATER = datetime.fromtimestamp(NOW_MS / 1000, UTC) + timedelta(days=200)


def test_one_undo_brings_back_all_that_a_consolidation_archived(store: MemoryStore) -> None:
    ids = {store.remember(f"The walrus number {number} was fed", category="event").id for number in range(3)}
    proposal = consolidation.propose(store, project="app", days_stale=90, at=LATER)
    assert {memory.id for memory in consolidation.apply(store, proposal)} == ids
    assert store.count() == 0
    assert {change.id for change in store.undo()} == ids
    assert store.count() == 3
