"""Earlier statements on the subjects of memories: which ones count, and which ones a later memory takes the place of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opencode_memory import MemoryStore
from support.stores import DAY_MS, NOW_MS, set_clock

OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """A store without an embedder, so that words must suffice."""
    return open_store(project="app")


def say(store: MemoryStore, *contents: str, **fields: str) -> list[str]:
    """Store memories, one each day, and return their ids."""
    ids = []
    for day, content in enumerate(contents):
        set_clock(store, NOW_MS + day * DAY_MS)
        ids.append(store.remember(content, **fields).id)
    return ids


def say_at_once(store: MemoryStore, *contents: str) -> list[str]:
    """Store memories in one batch that is too large to be compared when it is written."""
    filler = [{"content": f"{'abcdefgh'[number % 8] * 4} {number}", "category": "event"} for number in range(70)]
    made = [{"content": content, "time": NOW_MS + day * DAY_MS} for day, content in enumerate(contents)]
    return [result.id for result in store.remember_many([*made, *filler])[: len(contents)]]


def earlier(store: MemoryStore, *ids: str) -> dict[str, list[tuple[str, bool]]]:
    found = store.earlier(ids)
    return {id_: [(one.memory.content, one.is_replaced) for one in members] for id_, members in found.items()}


def test_replaced_statements_are_found_through_the_whole_chain(store: MemoryStore) -> None:
    ports = ["The API listens on port 8080.", "The API listens on port 9000.", "The API listens on port 7000."]
    *_, last = say(store, *ports)
    assert earlier(store, last) == {last: [(ports[1], True), (ports[0], True)]}


def test_same_statement_in_other_words_is_no_change(store: MemoryStore) -> None:
    old, new = say(store, "The build needs Ninja.", "The build needs ninja!")
    store.link(new, old, "supersedes")
    assert earlier(store, new) == {}


def test_exception_leaves_the_older_rule_in_force(store: MemoryStore) -> None:
    rule, exception = say(store, "Never push to the main branch.", "Push to the main branch for docs fixes.")
    [(content, is_replaced)] = earlier(store, rule, exception)[exception]
    assert (content, is_replaced) == ("Never push to the main branch.", False)


def test_statements_of_a_large_batch_are_compared_when_they_are_read(store: MemoryStore) -> None:
    old, new = say_at_once(store, "We use npm to install packages.", "We use pnpm instead of npm.")
    assert earlier(store, old) == earlier(store, new) == {}
    assert earlier(store, old, new) == {new: [("We use npm to install packages.", True)]}


def test_entries_of_a_series_stay_apart(store: MemoryStore) -> None:
    ids = say_at_once(store, *(f"Server {number} listens on port 80{number}0." for number in range(5)))
    assert earlier(store, *ids) == {}


def test_replacement_that_was_taken_back_is_not_repeated(store: MemoryStore) -> None:
    old, new = say(store, "Use npm to install packages.", "Use pnpm instead of npm.")
    store.undo(old)
    assert earlier(store, old, new) == {}


@pytest.mark.parametrize("protection", ["trust", "pin", "topic"])
def test_agent_takes_the_place_of_no_protected_statement(store: MemoryStore, protection: str) -> None:
    trust = "user" if protection == "trust" else "agent"
    [old] = say(
        store, "The API supports paging.", trust=trust, **({"topic": "paging"} if protection == "topic" else {})
    )
    if protection == "pin":
        store.pin(old)
    set_clock(store, NOW_MS + DAY_MS)
    new = store.remember("The API does not support paging.", trust="agent").id
    assert earlier(store, old, new) == {new: [("The API supports paging.", False)]}


def test_memory_of_another_project_is_no_earlier_statement(store: MemoryStore) -> None:
    elsewhere = store.remember("The API supports paging.", project="other").id
    new = store.remember("The API does not support paging.").id
    store.link(new, elsewhere, "contradicts")
    assert earlier(store, new, elsewhere) == {}


def test_global_statement_that_a_project_contradicts_stands_behind_it_and_stays(store: MemoryStore) -> None:
    everywhere = store.remember("The API supports paging.", scope="global").id
    new = store.remember("The API does not support paging.").id
    assert {found.kind for found in store.related(new) if found.memory.id == everywhere} == {"contradicts"}
    assert earlier(store, new, everywhere) == {new: [("The API supports paging.", False)]}


def test_unknown_id_has_no_earlier_statement(store: MemoryStore) -> None:
    assert store.earlier(["01900000-0000-7000-8000-000000000000"]) == {}


@pytest.mark.parametrize("size", ["few", "many"])
def test_global_statement_that_was_said_after_a_contradicting_one_of_the_project_stands_behind_it(
    store: MemoryStore, size: str
) -> None:
    more = say(store, *(f"The {word} pier has two cranes." for word in "abcdefgh")) if size == "few" else []
    if size == "many":
        filler = [{"content": f"Pier {'abcdefgh'[number % 8] * 4} {number} has a crane."} for number in range(80)]
        more = [result.id for result in store.remember_many(filler)]
    [own] = say(store, "Indent with tabs.", category="convention")
    set_clock(store, NOW_MS + 9 * DAY_MS)
    everywhere = store.remember("Indent with two spaces.", category="preference", scope="global").id
    elsewhere = store.remember("Indent with four spaces.", category="convention", project="other").id
    found = earlier(store, *more, own, everywhere, elsewhere)
    assert found[own] == [("Indent with two spaces.", False)]
    assert everywhere not in found
    assert found.get(elsewhere, []) == [("Indent with two spaces.", False)]
