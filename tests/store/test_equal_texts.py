"""Many memories with the same text in one batch: the licence below each note, "TBD" under each heading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory import Memory, MemoryStore, NewMemory

OpenStore = Callable[..., MemoryStore]
MEMORIES = st.builds(
    NewMemory,
    content=st.sampled_from(["MIT", "mit", "TBD"]),
    topic=st.sampled_from([None, "a", "b", "c"]),
    status=st.sampled_from(["active", "candidate"]),
    trust=st.sampled_from(["user", "agent", "imported"]),
    category=st.sampled_from(["fact", "directive"]),
    session=st.sampled_from(["s", "t"]),
    position=st.sampled_from([None, None, 1, 2]),
    project=st.sampled_from(["app", "other"]),
)


def stored(store: MemoryStore) -> list[Memory]:
    found = store.list(project="*", status=("active", "candidate", "archived", "superseded"), limit=1000)
    return sorted((replace(memory, id="", superseded_by=None) for memory in found), key=lambda memory: memory.key)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MEMORIES, min_size=2, max_size=10))
def test_batch_stores_what_the_same_memories_store_one_by_one(
    open_store: OpenStore, tmp_path: Path, memories: list[NewMemory]
) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    batch, single = (open_store(folder / name, project="app") for name in ("batch", "single"))
    together = [result.status for result in batch.remember_many(memories)]
    assert together == [single.remember_many([memory])[0].status for memory in memories]
    assert stored(batch) == stored(single)


def test_equal_texts_under_many_topics_are_not_compared_with_each_other(store: MemoryStore) -> None:
    """The comparison of each pair would take longer than the limit of a test."""
    memories = [NewMemory(content="MIT", topic=f"file:{number}.md#License") for number in range(20_000)]
    results = store.remember_many(memories, batch_size=500)
    assert len({result.id for result in results}) == 20_000
    again = store.remember_many(memories[:3])
    assert [result.id for result in again] == [result.id for result in results[:3]]
