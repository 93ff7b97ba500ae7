"""Links between memories, with the vectors of the bundled model: kinds, reasons, and hidden links."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencode_memory import MemoryStore, Status
from opencode_memory.embedding import BundledEmbedder
from support.stores import DAY_MS, NOW_MS, SECOND_MS, set_clock

OpenStore = Callable[..., MemoryStore]
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    """The bundled model, loaded once."""
    return BundledEmbedder()


@pytest.fixture
def store(open_store: OpenStore, embedder: BundledEmbedder) -> MemoryStore:
    return open_store(project="app", embedder=embedder)


def write_pair(
    store: MemoryStore, older: str, newer: str, *, first: dict[str, Any] | None = None, **options: Any
) -> tuple[str, str]:
    """Write two memories a minute apart and compare them; returns the ids, older first."""
    set_clock(store, NOW_MS - 60 * SECOND_MS)
    a = store.remember(older, **(options if first is None else first)).id
    set_clock(store, NOW_MS)
    b = store.remember(newer, **options).id
    store.indexes.embed_pending()
    return a, b


def linked(store: MemoryStore, id: str) -> list[tuple[str, str, str]]:
    """Kind, direction and reason of what is linked with a memory; what is merely near is left out."""
    return [(found.kind, found.direction, found.reason) for found in store.related(id) if found.kind != "near"]


MIGRATIONS = ("Integration tests need a running PostgreSQL", "Run database migrations before the integration tests")
LATER_RULES = [
    ("Squash commits before merging to main", "Never squash commits before merging to main"),
    ("Always run the linter before you commit", "Never run the linter before you commit"),
    ("Use tabs for indentation", "Do not use tabs for indentation"),
    ("The request timeout is 30 seconds", "The request timeout is 60 seconds"),
]
NEGATIONS = [
    ("We deploy to production on Fridays", "We do not deploy to production on Fridays"),
    ("The cache is enabled in tests", "The cache is disabled in tests"),
    ("The API supports paging", "The API does not support paging"),
    ("Deploy with tests", "Deploy without tests"),
]


def test_near_equal_statements_are_linked_similar(store: MemoryStore) -> None:
    older, newer = write_pair(
        store,
        "We use pnpm to install packages in this repository",
        "Use pnpm for installing packages in this repository",
    )
    [(kind, direction, reason)] = linked(store, newer)
    assert (kind, direction) == ("similar", "out")
    assert reason.startswith("cosine 0.9")
    assert [(kind, direction) for kind, direction, _ in linked(store, older)] == [("similar", "in")]


def test_memories_about_one_entity_are_related(store: MemoryStore) -> None:
    _, newer = write_pair(
        store,
        "The gateway retries failed requests three times",
        "Requests through the gateway are limited to 100 per second",
    )
    assert [(kind, reason[:8]) for kind, _, reason in linked(store, newer)] == [("related", "cosine 0")]


def test_longer_statement_extends_the_shorter(store: MemoryStore) -> None:
    older, newer = write_pair(
        store,
        "The billing service stores invoices in PostgreSQL",
        "The billing service stores invoices in PostgreSQL and archives them to S3 after one year",
    )
    [(kind, direction, reason)] = linked(store, newer)
    assert (kind, direction) == ("extends", "out")
    assert "words" in reason
    assert linked(store, older)[0][1] == "in"


def test_shorter_later_statement_does_not_extend(store: MemoryStore) -> None:
    _, newer = write_pair(
        store,
        "The billing service stores invoices in PostgreSQL and archives them to S3 after one year",
        "The billing service stores invoices in PostgreSQL",
    )
    assert [kind for kind, _, _ in linked(store, newer)] in (["related"], ["same_entity"])


def test_link_names_the_common_entity(store: MemoryStore) -> None:
    _, newer = write_pair(store, *MIGRATIONS, entities=("ci-runner",))
    [(kind, _, reason)] = linked(store, newer)
    assert kind == "same_entity"
    assert "ci-runner" in reason


@pytest.mark.parametrize("by", ["session", "source"])
def test_near_turns_of_a_session_are_a_sequence(store: MemoryStore, by: str) -> None:
    options: dict[str, Any] = {"session": "s1"} if by == "session" else {"source": {"session": "s1"}}
    _, newer = write_pair(store, *MIGRATIONS, **options)
    [(kind, _, reason)] = linked(store, newer)
    assert kind == "sequence"
    assert "session" in reason


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"session": "s1"}, {"session": "s2"}),
        ({"session": "s1"}, {}),
        ({}, {}),
        ({"session": "s1", "time": NOW - timedelta(minutes=11)}, {"session": "s1", "time": NOW}),
    ],
    ids=["two sessions", "one has none", "none", "eleven minutes"],
)
def test_distant_turns_are_not_a_sequence(store: MemoryStore, first: dict[str, Any], second: dict[str, Any]) -> None:
    _, newer = write_pair(store, *MIGRATIONS, first=first, **second)
    assert [kind for kind, _, _ in linked(store, newer)] == ["related"]


def test_unrelated_memories_are_not_linked(store: MemoryStore) -> None:
    _, newer = write_pair(
        store, "Invoices are written in euros", "The linter is ruff", session="s1", entities=("ci-runner",)
    )
    assert linked(store, newer) == []


@pytest.mark.parametrize(("positive", "negative"), NEGATIONS)
@pytest.mark.parametrize("negative_first", [True, False])
@pytest.mark.parametrize("trust", ["extracted", "user"])
def test_a_negated_fact_never_supersedes_nor_is_similar(
    store: MemoryStore, positive: str, negative: str, negative_first: bool, trust: str
) -> None:
    pair = (negative, positive) if negative_first else (positive, negative)
    older, newer = write_pair(store, *pair, category="decision", trust=trust)
    kinds = {kind for kind, _, _ in linked(store, newer)}
    assert kinds == {"contradicts"}
    assert [store.get(id).status for id in (older, newer)] == [Status.ACTIVE] * 2


@pytest.mark.parametrize(("first", "second"), LATER_RULES)
@pytest.mark.parametrize("is_reversed", [True, False])
def test_a_later_rule_or_value_supersedes_the_older(
    store: MemoryStore, first: str, second: str, is_reversed: bool
) -> None:
    older, newer = write_pair(store, *((second, first) if is_reversed else (first, second)))
    assert (store.get(older).status, store.get(older).superseded_by) == (Status.SUPERSEDED, newer)
    [(kind, direction, reason)] = linked(store, newer)
    assert (kind, direction, bool(reason)) == ("supersedes", "out", True)


@pytest.mark.parametrize(("positive", "negative"), NEGATIONS)
def test_the_opposite_contradicts_and_says_why(store: MemoryStore, positive: str, negative: str) -> None:
    older, newer = write_pair(store, positive, negative)
    [(kind, direction, reason)] = linked(store, newer)
    assert (kind, direction) == ("contradicts", "out")
    assert "negation" in reason
    assert [link.target for link in store.links(["contradicts"])] == [older]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Fix issue 12 in the gateway", "Fix issue 13 in the gateway"),
        ("Step 1 of the release runs the tests", "Step 2 of the release runs the tests"),
        ("Revenue of the shop grew in 2023", "Revenue of the shop grew in 2024"),
    ],
)
def test_numbers_that_are_names_neither_contradict_nor_supersede(store: MemoryStore, older: str, newer: str) -> None:
    first, second = write_pair(store, older, newer)
    assert not {kind for kind, _, _ in linked(store, second)} & {"contradicts", "supersedes"}
    assert [store.get(id).status for id in (first, second)] == [Status.ACTIVE] * 2


def test_the_same_statement_in_other_words_supersedes_and_says_so(store: MemoryStore) -> None:
    older, newer = write_pair(store, "The cache is enabled in tests", "Cache is enabled in tests.")
    assert (store.get(older).status, store.get(older).superseded_by) == (Status.SUPERSEDED, newer)
    assert [(kind, bool(reason)) for kind, _, reason in linked(store, newer)] == [("supersedes", True)]


@pytest.mark.parametrize("how", ["archive", "delete", "expire", "candidate"])
def test_an_end_that_is_gone_or_put_away_is_not_shown(store: MemoryStore, how: str) -> None:
    options: dict[str, Any] = {"expires_at": NOW + timedelta(days=1)} if how == "expire" else {}
    older, newer = write_pair(store, *MIGRATIONS, first=options)
    assert len(linked(store, newer)) == 1
    if how == "expire":
        set_clock(store, NOW_MS + 2 * DAY_MS)
    elif how == "candidate":
        waits = store.remember("Integration tests need a PostgreSQL that runs", status="candidate", trust="extracted")
        store.indexes.embed_pending()
        assert waits.id not in {found.memory.id for found in store.related(newer)}
        assert linked(store, waits.id) == []
        return
    else:
        getattr(store, how)(older)
    assert store.related(newer) == []
    assert store.links(["related", "similar"]) == []


@pytest.mark.parametrize("how", ["archive", "delete"])
def test_an_end_that_comes_back_is_linked_again(store: MemoryStore, how: str) -> None:
    older, newer = write_pair(store, *MIGRATIONS)
    before = linked(store, newer)
    getattr(store, how)(older)
    store.undo(older)
    store.indexes.embed_pending()
    assert linked(store, newer) == before


def test_a_link_that_was_found_goes_when_the_text_says_something_else(store: MemoryStore) -> None:
    older, newer = write_pair(store, *NEGATIONS[1])
    store.edit(older, content="Invoices are written in euros")
    store.indexes.embed_pending()
    assert linked(store, newer) == []
    assert store.links(["contradicts"]) == []


def test_a_link_changes_its_kind_with_the_text(store: MemoryStore) -> None:
    older, newer = write_pair(store, *NEGATIONS[1])
    store.edit(older, content="Before a test run, the cache should be filled in strict mode")
    store.indexes.embed_pending()
    kinds = [kind for kind, _, _ in linked(store, newer)]
    assert "contradicts" not in kinds
    assert len(kinds) == 1


def test_a_link_that_a_person_set_stays_when_the_text_changes(store: MemoryStore) -> None:
    a, b = write_pair(store, "Invoices are written in euros", "The linter is ruff")
    store.link(a, b, "depends_on", "the report needs both")
    store.edit(a, content="Invoices are written in francs")
    store.indexes.embed_pending()
    assert [(kind, reason) for kind, _, reason in linked(store, b)] == [("depends_on", "the report needs both")]


def test_projects_are_not_linked_with_each_other(store: MemoryStore) -> None:
    a = store.remember(NEGATIONS[0][0], project="app").id
    b = store.remember(NEGATIONS[0][1], project="shop").id
    store.indexes.embed_pending()
    assert (linked(store, a), linked(store, b)) == ([], [])
    assert store.links(["contradicts", "similar"], project="*") == []


def test_conversations_are_not_linked(store: MemoryStore) -> None:
    older, newer = write_pair(store, *NEGATIONS[0], category="conversation")
    assert (linked(store, older), linked(store, newer)) == ([], [])


def test_every_link_has_a_reason_and_a_weight(store: MemoryStore) -> None:
    for number, (positive, negative) in enumerate(NEGATIONS):
        store.remember(positive, session=f"s{number}")
        store.remember(negative, session=f"s{number}")
    for content in MIGRATIONS:
        store.remember(content)
    store.indexes.embed_pending()
    links = store.links(["similar", "related", "extends", "same_entity", "sequence", "contradicts", "supersedes"])
    assert len(links) >= len(NEGATIONS)
    assert all(link.reason and 0 < link.weight <= 1 and link.source != link.target for link in links)


def test_comparing_again_changes_nothing(store: MemoryStore) -> None:
    write_pair(store, *MIGRATIONS)
    before = store.links(["related"])
    assert store.indexes.link_new() == 0
    store.indexes.reindex()
    assert store.links(["related"]) == before


def test_links_to_a_memory_come_from_memories_that_pass(store: MemoryStore) -> None:
    first, second, third = (store.remember(text).id for text in ("Cranes lift.", "Ships sail.", "Gulls cry."))
    foreign = store.remember("Bees hum.", project="bees").id
    for source in (second, third, foreign):
        store.link(source, first, "told")
    store.link(second, third, "told")
    store.link(second, first, "other")
    links = store.links_to([first], ["told"])
    assert {(link.source, link.target, link.kind) for link in links} == {
        (second, first, "told"),
        (third, first, "told"),
    }
    assert {link.source for link in store.links_to([first], ["told"], project="bees")} == {foreign}
    store.delete(third)
    assert [link.source for link in store.links_to([first, third], ["told"])] == [second, second]
    assert store.links_to([], ["told"]) == store.links_to([first], []) == []
