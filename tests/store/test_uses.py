"""Uses of a memory: requested recalls and memories that an agent used."""

from __future__ import annotations

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
