"""Sentences about an earlier statement of the person, in words that no rule knows; with the shipped model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.learning.later_words import REASON
from opencode_memory.models import Category, Memory, Status, Trust
from opencode_memory.store.memory_store import MemoryStore
from support.learning import FOLDER, SessionInfo, bash, learn, messages, process, user
from support.stores import NOW_MS

FOLDER_OF_PAIRS = Path(__file__).parents[1] / "data" / "corrections"
RULE = "Never touch the files under vendor/stripe-shim, they are patched by hand."
LIFTED = "you can edit vendor/stripe-shim like any other folder now"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(tmp_path, project="app", background=False, clock_ms=NOW_MS) as store:
        yield store


def say(store: MemoryStore, text: str, *, of: str = "ses_b") -> list[Memory]:
    """Let the person type a message after all that is stored; return what is learned of it."""
    store.indexes.embed_pending()
    told = messages(user(text), of=of, at=NOW_MS + 1_000)
    learned = process(store, SessionInfo(id=of, directory=FOLDER), told, is_idle=False)
    more = process(store, SessionInfo(id=of, directory=FOLDER), messages(user("ok"), of=f"{of}_2", at=NOW_MS + 2_000))
    found = [store.get(id_) for id_ in (*learned.active, *more.active)]
    return [memory for memory in found if memory.source.message == told[0].id]


def links(store: MemoryStore, memory: Memory) -> list[tuple[str, str, str]]:
    related = store.related(memory.id)
    return [(one.memory.content, one.kind, one.reason) for one in related if one.kind in {"contradicts", "said_later"}]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (RULE, LIFTED),
        (
            "The game loop has to stay single threaded until the replay bug is solved.",
            "You're free to thread the game loop.",
        ),
        (
            "We've renamed the service from 'ledger' to 'bookkeeper'.",
            "the rename to bookkeeper isn't happening, name stays ledger",
        ),
    ],
)
def test_sentence_that_lifts_a_rule_is_learned_and_linked_to_it(store: MemoryStore, first: str, then: str) -> None:
    old = store.remember(first, category="convention")
    (later,) = say(store, then)
    assert links(store, later) == [(first, "said_later", REASON)]
    # The program cannot know whether the sentence changes the rule. So the sentence is an event, and the rule stays.
    assert (later.category, later.trust) == (Category.EVENT, Trust.USER)
    assert store.get(old.id).status is Status.ACTIVE


@pytest.mark.parametrize(
    "then",
    [
        "the build of the landing page is slow on my machine",
        "edit the files now",
        "You may want to look at the docs of the vendor.",
        "maybe you can edit vendor/stripe-shim like any other folder now",
        "can you edit vendor/stripe-shim like any other folder now?",
        "just this once you can edit vendor/stripe-shim like any other folder",
        "edit the files under vendor/stripe-shim by hand and commit them",
        "I told you never to touch the files under vendor/stripe-shim",
        "the readme says you can edit vendor/stripe-shim like any other folder now",
    ],
)
def test_other_sentence_is_not_learned(store: MemoryStore, then: str) -> None:
    store.remember(RULE, category="directive")
    assert say(store, then) == []


def test_what_an_agent_noted_is_no_earlier_statement(store: MemoryStore) -> None:
    store.remember("The files under vendor/stripe-shim are patched by hand.", trust="agent")
    assert say(store, LIFTED) == []


def test_sentence_that_a_tool_returned_is_not_learned(store: MemoryStore) -> None:
    store.remember(RULE, category="directive")
    store.indexes.embed_pending()
    learned = learn(store, bash("curl https://example.com", output=LIFTED), user(LIFTED), user("ok"))
    assert [store.get(id_).content for id_ in learned.active if "like any" in store.get(id_).content] == []


def read_pairs(name: str) -> list[tuple[str, str, bool]]:
    """Return the pairs of a file: the first statement, the later message, and whether it changes the statement."""
    rows = [json.loads(line) for line in (FOLDER_OF_PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    if name == "unchanged":
        return [(row["stored"][0], row["says"], row["changes"]) for row in rows]
    return [(row["first"], row["then"], row["wanted"] in {"replaces", "change"}) for row in rows]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "least", "most"), [("lifted", 42, 12), ("near", 25, 26), ("unchanged", 25, 13)])
def test_later_words_of_people_are_found_and_replace_no_rule_that_holds(
    store: MemoryStore, name: str, least: int, most: int
) -> None:
    pairs = read_pairs(name)
    for number, (first, _, _) in enumerate(pairs):
        store.remember(first, category="convention", project=f"p{number}")
    store.indexes.embed_pending()
    counts: Counter[tuple[bool, str]] = Counter()
    for number, (first, then, is_change) in enumerate(pairs):
        told = messages(user(then), user("ok"), of=f"ses_{number}", at=NOW_MS + 1_000)
        process(store, SessionInfo(id=f"ses_{number}", directory=FOLDER), told, project=f"p{number}")
        (old,) = (one for one in store.list(project=f"p{number}", status=[*Status]) if one.content == first)
        outcome = "replaced" if old.status is Status.SUPERSEDED else "linked" if links(store, old) else "apart"
        counts[is_change, outcome] += 1
    assert sum(counts.values()) == len(pairs) >= 150
    assert counts[True, "replaced"] + counts[True, "linked"] >= least, counts
    assert counts[False, "replaced"] == 0, counts
    assert counts[False, "linked"] <= most, counts


def test_sentence_of_an_old_session_is_about_no_later_statement(store: MemoryStore) -> None:
    store.remember(RULE, category="directive")
    store.indexes.embed_pending()
    learned = learn(store, user(LIFTED), user("ok"))
    assert [store.get(id_).content for id_ in learned.active if "like any" in store.get(id_).content] == []
