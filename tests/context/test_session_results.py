"""Results of a search of memories and sessions, as a reader gets them."""

from __future__ import annotations

from pathlib import Path

import opencode_memory
from opencode_memory.context.session_results import present_all
from opencode_memory.models import SessionHit
from support.embedders import WordEmbedder
from support.turns import AT, add


def test_ranks_count_memories_and_turns_together(tmp_path: Path) -> None:
    clock = int(AT.timestamp() * 1000)
    with opencode_memory.open(tmp_path, embedder=WordEmbedder(), background=False, clock_ms=clock) as store:
        store.remember("Orders of glass are shipped by the carrier Hermes.", project="shop")
        store.indexes.embed_pending()
        add(store, {"m1": "For islands, orders of glass go by another carrier.", "m2": "Glass is fragile, carrier."})
        found = present_all(store, store.search("carrier orders glass islands", project="shop"))
    hits = [one if isinstance(one, SessionHit) else one.hit for one in found]
    assert len({type(hit) for hit in hits}) > 1
    assert [hit.rank for hit in hits] == [*range(1, len(hits) + 1)]
