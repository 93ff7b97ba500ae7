"""The order of hits and its explanation: contributions add up to the score, and a limit only truncates."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import pytest

from opencode_memory import Hit, MemoryStore
from opencode_memory.embedding import BundledEmbedder
from support.embedders import WordEmbedder
from support.stores import DAY_MS, NOW_MS, recalled, set_clock

SIGNALS = {
    "words",
    "identifier",
    "meaning",
    "words_around",
    "meaning_around",
    "session",
    "short",
    "question",
    "speaker",
    "time",
    "assistant",
    "date",
    "recency",
    "pinned",
    "category",
}

QUERIES = (
    "walrus",
    "When did Ada feed the walrus?",
    "What did you recommend for the heron last week",
    "pinniped since Tuesday in src/feed_walrus.py",
    "Can you remind me of the walrus colony",
    "海象 walrus",
    "Ada herrings",
)

_WAYS: dict[str, dict[str, Any]] = {
    "words": {},
    "words of the index": {"catch_up": True},
    "meaning": {"embed": True},
    "meaning and index": {"embed": True, "catch_up": True},
    "half embedded": {"half": True},
    "as of now": {"embed": True, "options": {"as_of": NOW_MS}},
    "as of now by words": {"options": {"as_of": NOW_MS}},
    "filtered": {"embed": True, "options": {"category": ["fact", "decision"]}},
}


@pytest.fixture(params=_WAYS)
def asked(request: pytest.FixtureRequest, open_store) -> tuple[MemoryStore, dict[str, Any]]:
    """A store with conversations, notes, decisions and code, and the options of its questions."""
    way = _WAYS[request.param]
    store = open_store(project="app", embedder=WordEmbedder(synonyms={"pinniped": "walrus"}))
    for week in range(8):
        for position, (speaker, text) in enumerate(
            (
                ("Ada", f"Did anybody feed the walrus in week {week}?"),
                ("Ben", f"Yes, on Monday, with {week + 3} herrings."),
                ("assistant", f"I recommend a heron for week {week}. " + "It eats less than a walrus does. " * week),
                ("user", "海象 and walrus, so be it"),
            )
        ):
            time = NOW_MS - week * 3 * DAY_MS
            store.remember(text, session=f"week {week}", position=position, speaker=speaker, time=time)
        if week == 4 and way.get("half"):
            store.indexes.embed_pending()
    store.remember("The walrus colony decides by vote", category="decision", pinned=True, entities=["src/vote.py"])
    store.remember("def feed_walrus(herrings): ...", category="solution", source={"file": "src/feed_walrus.py"})
    store.remember("A note on the heron", session="week 3")
    store.remember("walrus " * 300)
    if way.get("embed"):
        store.indexes.embed_pending()
    if way.get("catch_up"):
        store.indexes.catch_up()
    return store, way.get("options", {})


def explained(store: MemoryStore, query: str, options: dict[str, Any]) -> list[Hit]:
    """All hits with their explanations."""
    hits = store.recall(query, limit=1000, explain=True, **options)
    assert hits, query
    return hits


def test_the_contributions_add_up_to_the_score(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    for query in QUERIES:
        for hit in explained(store, query, options):
            total = math.fsum(signal.contribution for signal in hit.explanation.signals)
            assert total == pytest.approx(hit.score, abs=1e-9), (query, str(hit.explanation))


def test_every_signal_has_one_name_and_a_description(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    for query in QUERIES:
        for hit in explained(store, query, options):
            signals = hit.explanation.signals
            names = [signal.name for signal in signals]
            assert len(names) == len(set(names))
            assert set(names) <= SIGNALS | {"estimated"}
            for signal in signals:
                assert math.isfinite(signal.raw)
                assert re.fullmatch(r"\w[^:]*:.* ?[+-]\d+\.\d{3}", signal.detail), signal.detail
                assert float(signal.detail.rsplit(" ", 1)[1]) == pytest.approx(signal.contribution, abs=0.0006)
            assert str(hit.explanation) == "; ".join(signal.detail for signal in signals)


def test_every_signal_occurs(asked: tuple[MemoryStore, dict[str, Any]], request: pytest.FixtureRequest) -> None:
    store, options = asked
    names = {
        signal.name
        for query in QUERIES
        for hit in explained(store, query, options)
        for signal in hit.explanation.signals
    }
    has_meaning = "words" not in request.node.callspec.params["asked"]
    expected = {"words", "meaning"} if "as_of" in options else SIGNALS
    is_partly_embedded = "half" in request.node.callspec.params["asked"]
    expected = expected | {"estimated"} if is_partly_embedded else expected
    # Without vectors, words have the whole weight, so that an identifier needs no weight of its own.
    assert names == (expected if has_meaning else expected - {"identifier", "meaning", "meaning_around"})


def test_ranks_count_from_one_and_scores_never_rise(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    for query in QUERIES:
        hits = explained(store, query, options)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert all(one.score >= next_.score for one, next_ in pairwise(hits))
        assert len({hit.memory.id for hit in hits}) == len(hits)


def test_the_ranks_of_a_signal_follow_its_values(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    seen = 0
    for query in QUERIES:
        for name in ("words", "meaning"):
            ranked = sorted(
                (signal.rank, signal.raw)
                for hit in explained(store, query, options)
                for signal in hit.explanation.signals
                if signal.name == name and signal.rank is not None
            )
            seen += len(ranked)
            assert all(one < next_ for (one, _), (next_, _) in pairwise(ranked))
            assert all(one >= next_ - 1e-4 for (_, one), (_, next_) in pairwise(ranked)), (query, name, ranked)
            assert not ranked or ranked[0][0] >= 1
    assert (seen > 0) == ("as_of" not in options)


def test_a_limit_only_cuts(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    for query in QUERIES:
        whole = [(hit.memory.id, hit.score) for hit in explained(store, query, options)]
        for limit in (1, 3, 10, 50):
            found = [(hit.memory.id, hit.score) for hit in store.recall(query, limit=limit, **options)]
            assert found == whole[:limit]


def test_explaining_and_asking_twice_change_nothing(asked: tuple[MemoryStore, dict[str, Any]]) -> None:
    store, options = asked
    for query in QUERIES:
        explained_ones = explained(store, query, options)
        plain = store.recall(query, limit=1000, **options)
        assert [(hit.memory.id, hit.score) for hit in plain] == [(hit.memory.id, hit.score) for hit in explained_ones]
        assert all(hit.explanation is None for hit in plain)


# Long texts

TOPICS = ["budget", "parser", "garden", "linter", "holiday", "index", "kitchen", "socket", "carpet", "compiler"]
LAST_PART = 2 * (
    "In the greenhouse the tomatoes get water every morning, and the cucumbers twice a day when the sun is out. "
    "Open the roof vents when it gets warmer than thirty degrees, or the seedlings wilt. "
    "The spare key to the greenhouse hangs behind the blue barrel that collects rain. "
    "Aphids on the peppers are washed off with soapy water, never with poison. "
)


@pytest.fixture(scope="module")
def long_text() -> str:
    """Some 5,000 words about meetings, and at last a few about plants."""
    sentences = [
        f"In meeting {number} we looked at the {TOPICS[number % 10]} once more and left the {TOPICS[number % 7]} alone."
        for number in range(330)
    ]
    return " ".join([*sentences, LAST_PART])


@pytest.fixture(scope="module")
def bundled() -> BundledEmbedder:
    return BundledEmbedder()


def test_a_fact_at_the_end_of_a_long_text_is_found_by_its_meaning(
    open_store, long_text: str, bundled: BundledEmbedder
) -> None:
    assert 4900 < len(long_text.split()) < 5500
    store = open_store(embedder=bundled)
    store.remember(long_text)
    store.remember("The garage door opens with a code.")
    store.remember("Lunch is at noon in the canteen.")
    query = "irrigation schedule for vegetable plants"
    assert recalled(store, query) == []
    store.indexes.embed_pending()
    assert recalled(store, query)[:1] == [long_text]
    store.indexes.catch_up()
    assert recalled(store, query)[:1] == [long_text]


def test_a_fact_at_the_end_of_a_long_text_is_found_as_of_a_moment_too(
    open_store, long_text: str, bundled: BundledEmbedder
) -> None:
    store = open_store(embedder=bundled)
    store.remember(long_text)
    store.indexes.embed_pending()
    assert recalled(store, "irrigation schedule for vegetable plants", as_of=NOW_MS) == [long_text]


# Other moments


def test_an_answer_as_of_now_is_the_answer_of_now(store: MemoryStore) -> None:
    store.remember("walrus colony in the northern bay")
    store.remember("the bay of pigs, a long story that has little to do with it")
    store.remember_many({"content": f"filler {number} of the bay"} for number in range(20))
    query = "walrus colony northern ice tusks bay"
    assert set(recalled(store, query, limit=100, as_of=NOW_MS)) == set(recalled(store, query, limit=100))


def test_as_of_signals_add_up_to_the_score(store: MemoryStore) -> None:
    id = store.remember("walrus of old", session="s", position=0).id
    set_clock(store, NOW_MS + 1000)
    store.edit(id, content="walrus of today")
    store.remember("walrus of tomorrow", session="s", position=1)
    store.indexes.embed_pending()
    hits = store.recall("Can you remind me of the old walrus", as_of=NOW_MS, explain=True)
    assert [hit.memory.content for hit in hits] == ["walrus of old"]
    assert math.fsum(signal.contribution for signal in hits[0].explanation.signals) == pytest.approx(hits[0].score)
