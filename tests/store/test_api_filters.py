"""Filters come before the top-k: one memory that fits is found among thousands that do not (predecessor 16)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import InvalidInputError, MemoryStore, Scope
from opencode_memory._core import Engine
from support.embedders import WordEmbedder
from support.stores import NOW_MS, bound_store, recalled, set_clock, texts

CROWD = 3000
NEEDLE = "the walrus sleeps on the northern ice"
# Each of the crowd is a better match for the query, by its words and by its meaning, than the one that is wanted.
QUERY = "walrus"
DAY_MS = 86_400_000

_WAYS: dict[str, dict[str, Any]] = {
    "words from the overlay": {},
    "words from the index": {"catch_up": True},
    "meaning by comparing all": {"embed": True, "query": "pinniped"},
    "meaning by the graph": {"embed": True, "query": "pinniped", "graph_from": 100, "catch_up": True},
    "both": {"embed": True, "graph_from": 100, "catch_up": True},
}


@pytest.fixture(scope="module", params=_WAYS)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[MemoryStore, str]]:
    """A store with a crowd in the project ``app``, and the question that the crowd answers better."""
    way = _WAYS[request.param]
    store = _open(tmp_path_factory.mktemp("crowd"), way.get("graph_from"))
    store.remember_many(
        {"content": f"walrus {number}", "category": "fact", "time": NOW_MS, "entities": ["crowd"], "tags": ["crowd"]}
        for number in range(CROWD)
    )
    for number, needle in enumerate(
        (
            {"project": "small"},
            {"category": "decision"},
            {"entities": ["!12"]},
            {"time": NOW_MS - 100 * DAY_MS},
            {"scope": "global"},
            {"status": "candidate"},
        )
    ):
        # Each needle is of its own session, so that equal texts are neither merged nor superseded.
        store.remember(NEEDLE, session=f"session {number}", position=0, **needle)
    if way.get("embed"):
        store.indexes.embed_pending()
    if way.get("catch_up"):
        store.indexes.catch_up()
    yield store, way.get("query", QUERY)
    store.close()


def _open(folder: Path, graph_from: int | None) -> MemoryStore:
    engine = Engine(folder, graph_from=graph_from, background=False, clock_ms=NOW_MS)
    embedder = WordEmbedder(dimension=32, synonyms={"pinniped": "walrus"})
    return bound_store(engine, project="app", embedder=embedder)


@pytest.mark.parametrize(
    "options",
    [
        {"project": "small", "scope": "project"},
        {"category": "decision"},
        {"category": ["decision", "idea"]},
        {"entity": "!12"},
        {"until": NOW_MS - 50 * DAY_MS},
        {"since": NOW_MS - 150 * DAY_MS, "until": NOW_MS},
        {"scope": "global"},
        {"project": "nowhere"},
        {"status": "candidate"},
    ],
    ids=str,
)
def test_the_one_that_fits_is_found_in_the_crowd(asked: tuple[MemoryStore, str], options: dict[str, Any]) -> None:
    store, query = asked
    assert recalled(store, query, **options) == [NEEDLE]


def test_without_a_filter_the_crowd_answers(asked: tuple[MemoryStore, str]) -> None:
    store, query = asked
    assert NEEDLE not in recalled(store, query)
    assert len(store.recall(query)) == 10


def test_filter_without_matches_returns_no_hits(asked: tuple[MemoryStore, str]) -> None:
    store, query = asked
    assert store.recall(query, category="blocker") == []
    assert store.recall(query, entity="!13") == []
    assert store.recall(query, since=NOW_MS + 1) == []


def test_a_crowd_of_dead_memories_does_not_eat_the_top(tmp_path: Path) -> None:
    with _open(tmp_path, graph_from=100) as store:
        ids = [
            result.id for result in store.remember_many({"content": f"walrus {number}"} for number in range(CROWD // 3))
        ]
        store.remember(NEEDLE)
        store.indexes.embed_pending()
        store.indexes.catch_up()
        store.delete(ids[::2])
        store.archive(ids[1::2])
        for query in (QUERY, "pinniped"):
            assert recalled(store, query) == [NEEDLE]


def test_a_crowd_of_expired_memories_does_not_eat_the_top(tmp_path: Path) -> None:
    with _open(tmp_path, graph_from=100) as store:
        store.remember_many({"content": f"walrus {number}", "ttl_seconds": 60} for number in range(CROWD // 3))
        store.remember(NEEDLE)
        store.indexes.embed_pending()
        store.indexes.catch_up()
        set_clock(store, NOW_MS + 60_000)
        for query in (QUERY, "pinniped"):
            assert recalled(store, query) == [NEEDLE]


def test_since_is_inclusive_and_until_is_not(store: MemoryStore) -> None:
    for second in range(4):
        store.remember(f"walrus {second}", time=NOW_MS + 1000 * second)
    options = {"since": NOW_MS + 1000, "until": NOW_MS + 3000}
    assert (
        sorted(recalled(store, "walrus", **options)) == sorted(texts(store.list(**options))) == ["walrus 1", "walrus 2"]
    )
    assert store.count(**options) == 2


def test_older_than_is_about_the_creation_and_not_about_the_time(store: MemoryStore) -> None:
    store.remember("an early walrus", time=NOW_MS + DAY_MS)
    set_clock(store, NOW_MS + 1000)
    store.remember("a late walrus", time=NOW_MS - DAY_MS)
    assert texts(store.list(older_than=NOW_MS + 1000)) == ["an early walrus"]


def test_entities_and_tags_are_compared_without_case_and_as_a_whole(store: MemoryStore) -> None:
    store.remember("Port 5128 is taken", entities=["5128", "PostgreSQL"], tags=["Ops"])
    store.remember("merged !12", entities=["!12"])
    assert texts(store.list(entity="postgresql")) == texts(store.list(tag="oPS")) == ["Port 5128 is taken"]
    assert texts(store.list(entity="!12")) == ["merged !12"]
    assert store.list(entity="12") == store.list(entity="!1") == store.list(tag="op") == []


def test_filters_add_up(store: MemoryStore) -> None:
    store.remember("walrus one", category="fact", entities=["a"], tags=["x"])
    store.remember("walrus two", category="idea", entities=["a"], tags=["x"])
    store.remember("walrus three", category="fact", entities=["b"], tags=["x"])
    assert recalled(store, "walrus", category="fact", entity="a") == ["walrus one"]
    assert texts(store.list(tag="x", entity="a", category=["idea", "plan"])) == ["walrus two"]


def test_pages_of_a_list_meet_without_gap_or_overlap(store: MemoryStore) -> None:
    store.remember_many({"content": f"memory {number}"} for number in range(25))
    paged = [memory.id for offset in range(0, 30, 10) for memory in store.list(limit=10, offset=offset)]
    assert paged == [memory.id for memory in store.list(limit=1000)]
    assert len(set(paged)) == store.count() == 25


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope.everything(), {"walrus", "heron", "otter"}),
        (Scope.global_only(), {"otter"}),
        (Scope.project("app"), {"walrus", "otter"}),
        (Scope.project("app", with_global=False), {"walrus"}),
        (Scope.owned_by("app"), {"walrus"}),
        (Scope.owned_by(None), {"otter"}),
        (Scope.seen_from("app"), {"walrus", "otter"}),
        (Scope.seen_from(None), {"otter"}),
    ],
)
def test_scope_selects_the_same_memories_in_list_count_and_recall(open_store, scope: Scope, expected: set[str]) -> None:
    store = open_store(project="other")
    for content, project in (("walrus", "app"), ("heron", "zoo"), ("otter", None)):
        store.remember(content, scope=Scope.owned_by(project))

    assert {memory.content for memory in store.list(scope=scope)} == expected
    assert store.count(scope=scope) == len(expected)
    assert {hit.memory.content for hit in store.recall("walrus heron otter", scope=scope)} == expected


def test_scope_and_project_together_are_refused(store) -> None:
    with pytest.raises(InvalidInputError, match="the scope names one already"):
        store.list(scope=Scope.global_only(), project="app")
    with pytest.raises(InvalidInputError, match="the scope names one already"):
        store.remember("x", scope=Scope.global_only(), project="app")


def test_memory_cannot_be_written_to_more_than_one_project(store) -> None:
    with pytest.raises(InvalidInputError, match="one project or to none"):
        store.remember("x", scope=Scope.everything())
