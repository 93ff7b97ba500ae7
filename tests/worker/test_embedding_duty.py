"""Embedding and linking as duties of the worker."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from opencode_memory import MemoryStore
from opencode_memory.worker.duties import EMBED, LINK, maintenance_duties
from support.embedders import ConstantEmbedder, DownEmbedder, HookedEmbedder
from support.stores import DAY_MS, NOW_MS, SECOND_MS, recalled, set_clock
from support.worker_loop import (
    BAD,
    MOST_ATTEMPTS,
    OpenStore,
    fails_on_marker,
    work_some,
    work_through_failures,
    work_until_idle,
)


def test_pending_memories_are_embedded_and_linked(store: MemoryStore) -> None:
    first = store.remember("We use pnpm in the shop repository").id
    second = store.remember("In the shop repository we use pnpm workspaces").id
    work_until_idle(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [found.memory.id for found in store.related(first)] == [second]
    assert store.links(["similar", "extends", "related"])


def test_more_than_one_batch_is_embedded_in_turns(store: MemoryStore) -> None:
    store.remember_many({"content": f"walrus{number} sits on rock{number}"} for number in range(600))
    work_until_idle(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [job for job in store.jobs.list() if job.kind in {EMBED, LINK}] == []


def test_worker_becomes_idle_with_an_unembeddable_text(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    store.remember(f"the {BAD} one")
    store.remember("walrus")
    assert work_until_idle(store, maintenance_duties()) < 20


def test_unembeddable_text_gets_its_own_job_and_blocks_no_other(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    bad = store.remember(f"the {BAD} one").id
    good = [store.remember(f"walrus number{number}").id for number in range(5)]
    work_some(store, maintenance_duties())
    [job] = [job for job in store.jobs.list() if job.kind == EMBED]
    assert job.subject == str(store.get(bad).key)
    assert job.error is not None
    assert BAD in job.error
    work_through_failures(store, maintenance_duties())
    [job] = [job for job in store.jobs.list() if job.kind == EMBED]
    assert (job.subject, job.dead_at is None) == (str(store.get(bad).key), False)
    later = store.remember("walrus and octopus").id
    work_some(store, maintenance_duties())
    assert store.stats().pending_embeddings == 1
    assert recalled(store, BAD) == [f"the {BAD} one"]
    assert {found.memory.id for found in store.related(later, limit=10)} == set(good)


def test_unembeddable_text_is_embedded_after_an_edit(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    id = store.remember(f"the {BAD} one").id
    work_through_failures(store, maintenance_duties())
    assert [job.kind for job in store.jobs.list() if job.dead_at is not None] == [EMBED]
    store.edit(id, content="the good one")
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()


@pytest.mark.parametrize("cure", ["edit", "delete", "purge"])
def test_dead_job_of_a_deleted_text_is_dropped(open_store: OpenStore, cure: str) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    id = store.remember(f"the {BAD} one").id
    work_through_failures(store, maintenance_duties())
    if cure == "edit":
        store.edit(id, content="the good one")
    else:
        getattr(store, cure)(id)
    set_clock(store, store._engine.now_ms() + 2 * DAY_MS)
    work_some(store, maintenance_duties())
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []


def test_revived_job_embeds_after_the_cause_is_fixed(open_store: OpenStore) -> None:
    is_broken = True

    def hook(batch: Sequence[str]) -> None:
        if is_broken:
            fails_on_marker(batch)

    store = open_store(project="app", embedder=HookedEmbedder(hook))
    store.remember(f"the {BAD} one")
    store.remember("walrus")
    work_through_failures(store, maintenance_duties())
    is_broken = False
    assert store.jobs.revive() == 1
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
    assert [job for job in store.jobs.list() if job.kind == EMBED] == []


def test_several_unembeddable_texts_block_no_other(open_store: OpenStore) -> None:
    store = open_store(project="app", embedder=HookedEmbedder(fails_on_marker))
    store.remember_many({"content": f"{BAD} number{number}"} for number in range(6))
    store.remember_many({"content": f"walrus{number} sits"} for number in range(250))
    for minute in range(10):
        set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
        work_some(store, maintenance_duties())
    assert store.stats().pending_embeddings == 6


def test_unembeddable_text_waits_for_its_next_attempt_behind_a_large_backlog(open_store: OpenStore) -> None:
    tried: list[str] = []

    def hook(batch: Sequence[str]) -> None:
        tried.extend(text for text in batch if BAD in text)
        fails_on_marker(batch)

    store = open_store(project="app", embedder=HookedEmbedder(hook))
    for number in range(1_001):
        store.jobs.enqueue("later", f"{number}.md")
    store.remember(f"the {BAD} one")
    work_some(store, maintenance_duties())
    # Once in the batch, and once in its own job, which waits for its next attempt then.
    assert len(tried) == 2


def test_broken_model_postpones_the_job_and_fails_none(open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    embedder = DownEmbedder()
    store = open_store(project="app", embedder=embedder)
    store.remember_many({"content": f"walrus{number}"} for number in range(40))
    with caplog.at_level(logging.WARNING):
        for minute in range(2 * MOST_ATTEMPTS):
            set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
            work_some(store, maintenance_duties())
    assert "out of order" in caplog.text
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []
    embedder.is_down = False
    set_clock(store, NOW_MS + DAY_MS // 2)
    work_some(store, maintenance_duties())
    work_through_failures(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()


def test_vectors_of_another_model_fail_no_job(open_store: OpenStore) -> None:
    with open_store(project="app") as first:
        first.remember("walrus")
        first.indexes.embed_pending()
    store = open_store(project="app", embedder=ConstantEmbedder(0.25), clock_ms=NOW_MS + 1)
    store.remember("octopus")
    for minute in range(2 * MOST_ATTEMPTS):
        set_clock(store, NOW_MS + minute * 61 * SECOND_MS)
        work_some(store, maintenance_duties())
    assert [job for job in store.jobs.list() if job.dead_at is not None] == []
    assert store.indexes.waits_for_vectors()


def test_worker_does_not_wait_for_another_embedding_process(open_store: OpenStore) -> None:
    second: list[MemoryStore] = []

    def while_embedding(batch: Sequence[str]) -> None:
        if second:
            assert second[0].indexes.embed_some(limit=10) is None

    store = open_store(project="app", embedder=HookedEmbedder(while_embedding))
    store.remember("walrus")
    second.append(open_store(project="app"))
    work_some(store, maintenance_duties())
    assert not store.indexes.waits_for_vectors()
