"""Consolidation as a duty of the worker."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from opencode_memory import MemoryStore, Status
from opencode_memory.worker.duties import maintenance_duties
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock
from support.worker_loop import (
    work_until_idle,
)


def duplicates(store: MemoryStore, *trusts: str, **options: Any) -> list[str]:
    """Write near duplicates that are linked as such, a second apart, and return their ids."""
    # The word order differs: the vectors are equal, the statements are not.
    wordings = ["pnpm installs packages before jest runs", "jest runs before pnpm installs packages"]
    ids = []
    for number, (wording, trust) in enumerate(zip(wordings, trusts, strict=True)):
        set_clock(store, NOW_MS - DAY_MS + number * SECOND_MS)
        ids.append(store.remember(wording, trust=trust, **options).id)
    store.indexes.embed_pending()
    assert [link.kind for link in store.links(["similar"], project="*")] == ["similar"]
    set_clock(store, NOW_MS)
    return ids


def test_consolidation_archives_the_weaker_of_two_learned_memories(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ARCHIVED, Status.ACTIVE)
    store.undo(older)
    assert store.get(older).status == Status.ACTIVE


def test_consolidation_keeps_memories_of_users_and_agents(store: MemoryStore) -> None:
    for project, trusts in (("a", ("user", "user")), ("b", ("agent", "agent")), ("c", ("user", "agent"))):
        wordings = ["pnpm installs packages before jest runs", "jest runs before pnpm installs packages"]
        for wording, trust in zip(wordings, trusts, strict=True):
            store.remember(wording, trust=trust, project=project)
    store.indexes.embed_pending()
    assert len(store.links(["similar"], project="*")) == 3
    work_until_idle(store, maintenance_duties())
    assert store.count(project="*") == 6


@pytest.mark.parametrize("trust", ["user", "agent"])
@pytest.mark.parametrize("learned_first", [True, False])
def test_consolidation_prefers_written_to_learned_memories(store: MemoryStore, trust: str, learned_first: bool) -> None:
    trusts = ("extracted", trust) if learned_first else (trust, "extracted")
    ids = duplicates(store, *trusts)
    work_until_idle(store, maintenance_duties())
    assert [memory.id for memory in store.list()] == [ids[trusts.index(trust)]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Never deploy the webhook service on a Friday", "Never deploy the webhook service on a Monday"),
        ("We are blocked by the review of ticket 1442", "We are blocked by the review of ticket 5124"),
        ("I prefer small commits in the billing code", "I prefer large commits in the billing code"),
        ("Call parse_date from src/a.py", "Call parse_date from src/b.py"),
    ],
)
def test_consolidation_keeps_near_statements_with_other_words(store: MemoryStore, first: str, second: str) -> None:
    ids = [store.remember(said, trust="extracted").id for said in (first, second)]
    store.indexes.embed_pending()
    store.link(ids[1], ids[0], "similar", weight=0.99)
    work_until_idle(store, maintenance_duties())
    assert [store.get(memory_id).status for memory_id in ids] == [Status.ACTIVE, Status.ACTIVE]


def test_near_statements_that_stay_do_not_hide_duplicates(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    tickets = [store.remember(f"Ticket {number} is blocked", trust="extracted").id for number in range(60)]
    for one, other in itertools.pairwise(tickets):
        store.link(one, other, "similar", weight=1.0)
    store.link(newer, older, "similar", weight=0.96)
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.count()) == (Status.ARCHIVED, 61)


def test_consolidation_leaves_a_pinned_memory(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    store.pin(older)
    work_until_idle(store, maintenance_duties())
    assert store.get(older).status == Status.ACTIVE
    assert store.get(newer).status == Status.ARCHIVED


def test_consolidation_prefers_confirmed_memories(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    set_clock(store, NOW_MS - DAY_MS)
    store.edit(older, verified=True)
    set_clock(store, NOW_MS - DAY_MS // 2)
    store.edit(newer, tags=["later"])
    set_clock(store, NOW_MS)
    work_until_idle(store, maintenance_duties())
    assert store.get(older).status == Status.ACTIVE


@pytest.mark.parametrize("bring_back", ["undo", "restore"])
def test_restored_duplicate_and_its_counterpart_stay(store: MemoryStore, bring_back: str) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    work_until_idle(store, maintenance_duties())
    getattr(store, bring_back)(older)
    set_clock(store, NOW_MS + DAY_MS)
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ACTIVE, Status.ACTIVE)


def test_consolidation_ignores_duplicates_that_were_edited(store: MemoryStore) -> None:
    older, newer = duplicates(store, "extracted", "extracted")
    store.edit(older, content="the billing service listens on 5128")
    store.indexes.embed_pending()
    work_until_idle(store, maintenance_duties())
    assert (store.get(older).status, store.get(newer).status) == (Status.ACTIVE, Status.ACTIVE)


def test_consolidation_does_not_resolve_contradictions(store: MemoryStore) -> None:
    for said in ("The API supports paging", "The API does not support paging"):
        store.remember(said, trust="extracted")
    store.indexes.embed_pending()
    assert [link.kind for link in store.links(["contradicts", "similar"])] == ["contradicts"]
    work_until_idle(store, maintenance_duties())
    assert store.count() == 2
