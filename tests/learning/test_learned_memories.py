"""Tests of the predicate that recognises learned memories."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore
from opencode_memory.models import Status
from support.learning import learn, user

QUOTED = {"rule": "always", "evidence": "Always use tabs."}


@pytest.mark.parametrize(
    ("trust", "metadata", "is_learned"),
    [
        ("extracted", {}, True),
        ("user", QUOTED, True),
        ("user", {}, False),
        ("user", {"rule": "always"}, False),
        ("agent", {"evidence": "Always use tabs."}, False),
    ],
)
def test_memory_with_rule_and_quote_is_learned(
    store: MemoryStore, trust: str, metadata: dict[str, str], is_learned: bool
) -> None:
    result = store.remember("Use tabs, not spaces.", category="convention", trust=trust, metadata=metadata)
    assert store.get(result.id).is_learned is is_learned


@pytest.mark.parametrize(
    ("earlier", "later", "replaces"),
    [
        ("Always use npm for the frontend.", "npm was wrong, always use pnpm for the frontend.", True),
        ("Always run `make test` before a commit.", "`make test` was wrong, always run `make check` instead.", True),
        ("Always use MySQL for the ledger.", "npm was wrong, always use pnpm for the frontend.", False),
    ],
)
def test_rule_that_names_what_was_wrong_replaces_only_that(
    store: MemoryStore, earlier: str, later: str, replaces: bool
) -> None:
    learn(store, user(earlier), of="a")
    [rule] = store.list(project="app")
    learn(store, user(later), of="b")
    assert (store.get(rule.id).status is Status.SUPERSEDED) is replaces
    assert len(store.list(project="app")) == (1 if replaces else 2)


def test_fact_behind_words_that_correct_the_agent_replaces_a_memory(store: MemoryStore) -> None:
    learn(store, user("Remember that the dev server listens on port 1313."), of="a")
    [stored] = store.list(project="app")
    learn(store, user("That's wrong: the dev server listens on port 1414, not 1313."), of="b")
    assert store.get(stored.id).status is Status.SUPERSEDED
    assert [memory.content for memory in store.list(project="app")] == [
        "The dev server listens on port 1414, not 1313."
    ]
